import ExactJSON
import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

private let folder = ProcessInfo.processInfo.environment["CONSOLE_SCREENSHOTS"].map { URL(filePath: $0) }

/// The pictures of the documentation, which `Scripts/screenshots` makes: set `CONSOLE_SCREENSHOTS` to a folder.
@Suite(.serialized, .enabled(if: Browser.executable != nil && folder != nil, "makes pictures on demand"))
struct ConsolePictures {
    @Test(arguments: [(1400, 900), (390, 844)], [false, true])
    func mainViews(size: (width: Int, height: Int), dark: Bool) async throws {
        let folder = try #require(folder)
        try await withEmulator { server async throws in
            // The name of a space is always the same; the address of a server is not.
            let emulator = try await server.makeSpace(named: "checkout tests", seed: 1)
            let scene = try await ConsoleScene(in: emulator)
            try await withConsole(of: emulator, width: size.width, height: size.height, dark: dark) {
                page async throws in
                func picture(_ name: String) async throws {
                    // Movements have ended, and nothing has the focus.
                    try await page.evaluate("document.activeElement.blur(), 1")
                    try await page.evaluate("new Promise((done) => setTimeout(done, 1900))")
                    let name = "console-\(name)\(size.width < 600 ? "-phone" : "")\(dark ? "~dark" : "").png"
                    try await page.screenshot().write(to: folder.appending(path: name))
                }
                try await page.wait(until: "document.querySelector('#stage .controls')")
                try await picture("operations")
                try await page.go(to: "operations/\(scene.waiting)")
                try await page.wait(until: "document.querySelector('#details .way')")
                try await picture("operation")
                try await page.go(to: "journal/\(scene.refused)")
                try await page.wait(until: "document.querySelector('#details .verdict')")
                try await picture("refused")
            }
        }
    }
}

/// A morning at a bank: payments that were approved, rejected and refused, and some that wait.
struct ConsoleScene {
    /// An operation that was refused once, and waits.
    let waiting: String
    let refused: UInt64

    private static let scenario = """
        {
          "clock": {"now": "2026-03-02T09:00:00Z", "mode": "manual"},
          "devices": [
            {"userId": "alice", "name": "Alice’s phone", "rule": {"decision": "never"}},
            {"userId": "bob", "name": "Bob’s Pixel", "rule": {"decision": "never"}},
            {"userId": "carol", "name": "Carol’s iPhone", "version": "4.0", "rule": {"decision": "never"}}
          ]
        }
        """
    private static let deeds:
        [(template: String, user: String, parameters: [String: JSONValue], deeds: [Emulator.DeviceDecision])] =
            [
                ("payment", "alice", ["amount": "1999.00", "note": "A new bicycle"], [.approve]),
                (
                    "payment", "bob", ["amount": "250.00", "currency": "EUR", "iban": "DE89370400440532013000"],
                    [.reject]
                ),
                ("login", "carol", ["party.name": "Example Bank"], [.approve]),
                ("payment_shop", "carol", ["amount": "49.90"], [.approve]),
                ("payment_conversion", "bob", [:], []),
                ("payment", "alice", ["amount": "12500.00", "note": "Deposit"], [.wrongPassword, .approve]),
                ("login", "alice", ["party.name": "Example Bank"], []),
                ("payment_suspicious", "bob", ["amount": "48000.00"], [.wrongPassword]),
                ("payment", "alice", ["amount": "840.00", "note": "Train tickets"], []),
            ]

    init(in emulator: Emulator) async throws {
        try await emulator.play(scenario: Data(Self.scenario.utf8))
        var (waiting, refused) = ("", UInt64(0))
        for (template, user, parameters, decisions) in Self.deeds {
            let device = try #require(await emulator.devices().first { $0.userID == user })
            let operation = try await emulator.cloud.createOperation(template, userID: user, parameters: parameters)
            for decision in decisions {
                await emulator.clock.advance(by: .milliseconds(3720))
                try await emulator.decide(operation.id, decision, byDevice: device.id)
            }
            await emulator.clock.advance(by: .seconds(14))
            if template == "login", user == "alice" {
                try await emulator.cloud.cancelOperation(operation.id, reason: "CHANGED_MIND")
            }
            if template == "payment_suspicious" {
                waiting = operation.id
                refused = await emulator.journal().last { $0.code?.isRight == false }?.id ?? 0
            }
        }
        (self.waiting, self.refused) = (waiting, refused)
    }
}
