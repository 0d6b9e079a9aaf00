import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

/// Something of everything that the console shows, with long names and failures among it.
struct ConsoleSample {
    static let views = [
        "operations", "activations", "messages", "pushes", "callbacks", "templates", "journal", "faults", "clock",
        "spaces", "connect",
    ]

    /// Operations, requests and a template with much to tell.
    let stories: [String]
    /// One address of each kind of details, those of the stories among them.
    let details: [String]

    init(in emulator: Emulator) async throws {
        for user in ["alice", "bob", "carol with a rather long name indeed"] {
            try await emulator.cloud.register(userID: user)
        }
        for (number, template) in await emulator.templates().enumerated() {
            let operation = try await emulator.cloud.createOperation(template.name, userID: "user\(number % 3)")
            if number.isMultiple(of: 3) { try await emulator.cloud.cancelOperation(operation.id, reason: "LATE") }
        }
        _ = try await emulator.cloud.createMessage(
            .init(userID: "alice", subject: "Hello", summary: "A word", body: "…")
        )
        // Nothing of it by HTTP: beside many browsers a request could take too long.
        let callback =
            #"{"name": "bank", "type": "OPERATION", "callbackUrl": "http://127.0.0.1:1/a/long/path/to/a/bank"}"#
        try await emulator.play(scenario: Data(#"{"callbacks": [\#(callback)]}"#.utf8))
        let device = try await emulator.makeDevice(userID: "dave", name: "Dave’s phone", rule: .init(.never))
        let decided = try await emulator.cloud.createOperation("payment", userID: "dave")
        try await emulator.decide(decided.id, .wrongPassword, byDevice: device.id)
        let failed = try #require(await emulator.journal().last { $0.code?.isRight == false })
        try await emulator.decide(decided.id, .approve, byDevice: device.id)
        let created = try #require(await emulator.journal().last { $0.decryptedBody?.count == 2 })
        let waiting = try await emulator.cloud.createOperation("payment", userID: "dave")
        _ = try await emulator.cloud.createApplication(id: "another application with a long name")
        let space = try await emulator.makeSpace(named: "a failed test")
        _ = try? await space.cloud.createOperation("none", userID: "alice")
        try await space.markFailed(because: "PENDING is not APPROVED\nand more")
        await emulator.faults.add(
            FaultRule(name: "Busy: 503", match: .init(path: "/x"), effect: .init(status: 503))
        )

        let stories = [
            "operations/\(decided.id)", "journal/\(failed.id)", "journal/\(created.id)", "templates/showcase",
        ]
        self.stories = stories
        self.details =
            stories + ["operations/\(waiting.id)"] + (await emulator.activations().map { "activations/\($0.id)" })
            + (await emulator.messages().map { "messages/\($0.id)" })
            + (emulator.deliveries().prefix(1).map { "deliveries/\($0.id)" })
    }

    /// Looks at every view, at the details and at the dialogs, one after the other, by their names.
    func tour(_ page: Browser, _ look: (String) async throws -> Void) async throws {
        for view in Self.views {
            try await page.go(to: view)
            try await page.wait(until: ConsoleLegibilityTests.isDrawn(view))
            try await look(view)
        }
        for address in self.details {
            try await page.go(to: address)
            try await page.wait(until: "document.querySelector('#details[open]').dataset.key === '\(address)'")
            try await look(address)
        }
        try await page.press("Escape")
        try await page.wait(until: "!document.querySelector('dialog[open]')")
        for dialog in ["new-operation", "new-activation", "new-message", "new-callback"] {
            try await page.evaluate("document.querySelector('[data-open=\(dialog)]').click()")
            try await page.wait(until: "document.querySelector('#\(dialog)').open")
            try await look(dialog)
            try await page.press("Escape")
            try await page.wait(until: "!document.querySelector('#\(dialog)').open")
        }
    }
}
