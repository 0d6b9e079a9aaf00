import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// Tests of what a tester does with the console all day.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleWorkbenchTests {
    @Test func theClockJumpsToTheNextExpiry() async throws {
        try await withConsole(view: "clock") { emulator, page async throws in
            await emulator.clock.freeze()
            try await emulator.cloud.createOperation("login", userID: "later", lifetime: .seconds(900))
            let next = try await emulator.cloud.createOperation("payment", userID: "alice", lifetime: .seconds(90))
            try await page.wait(until: "document.querySelector('#clock-next').textContent.includes('1:30 left')")
            try await page.click("#clock-next button")
            try await page.wait(until: "document.querySelector('#clock-next').textContent.includes('13:30 left')")
            #expect(await emulator.operations().filter { $0.status == .expired }.map(\.id) == [next.id])
        }
    }

    @Test func aKeyShowsTheKeys() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await page.wait(until: "document.querySelector('#operations-list .row')")
            // In a field it is a letter.
            try await page.evaluate("document.querySelector('#operations-filter').focus()")
            try await page.press("?")
            try await page.wait(until: "document.querySelector('#operations-filter').value === '?'")
            #expect(try await page.evaluate("String(document.querySelector('#keys').open)") == "false")
            try await page.evaluate("document.activeElement.blur()")
            try await page.press("?")
            try await page.wait(until: "document.querySelector('#keys').open")
            try await page.press("Escape")
            try await page.wait(until: "!document.querySelector('#keys').open")
        }
    }

    @Test func aSpentFaultSaysSo() async throws {
        try await withConsole { emulator, page async throws in
            await emulator.faults.add(
                FaultRule(name: "Once", match: .init(path: "/x", first: 1), effect: .init(status: 503))
            )
            _ = try await emulator.send("GET", "/x")
            try await page.click("#tab-faults")
            let rules = "document.querySelector('#fault-list').textContent"
            try await page.wait(until: "\(rules).includes('struck 1 of 1, spent')")
        }
    }

    @Test func failedSpacesComeFirst() async throws {
        try await withEmulator { emulator async throws in
            let failed = try await emulator.makeSpace(named: "older")
            try await failed.markFailed(because: "PENDING is not APPROVED")
            _ = try await emulator.makeSpace(named: "newer")
            try await withConsole(of: emulator, view: "spaces") { page async throws in
                try await page.wait(until: "document.querySelectorAll('#spaces-list li').length === 2")
                let first = try await page.evaluate("document.querySelector('#spaces-list li').textContent")
                #expect(first.hasPrefix("✗ older") && first.contains("PENDING is not APPROVED"))
            }
        }
    }

    @Test func theTriesOfACallbackAreOneRow() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.cloud.createCallback(
                .init(name: "bank", subject: .operations, url: "http://127.0.0.1:1/")
            )
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            let delivery = try #require(emulator.deliveries().last)
            _ = try await emulator.send("POST", "/_emulator/deliveries/\(delivery.id)/replay")
            try await emulator.settle(within: .seconds(60))
            let rows = "document.querySelectorAll('#journal-list .callback')"
            try await page.wait(until: "\(rows).length === 1 && \(rows)[0].textContent.includes('× 2')")
            try await page.click("#journal-group")
            try await page.wait(until: "\(rows).length === 2")
        }
    }

    /// A callback that fails after a refused attempt is not the reason for its refusal.
    @Test func theReasonOnThePhoneIsTheDevices() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.cloud.createCallback(
                .init(name: "bank", subject: .operations, url: "http://127.0.0.1:1/")
            )
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.decide(made.id, .wrongPassword, byDevice: device.id)
            try await emulator.settle(within: .seconds(60))
            #expect(await emulator.journal().last { !$0.isAccepted }?.deliveryID != nil)
            let reason = "document.querySelector('#stage .error')?.textContent"
            try await page.wait(until: "\(reason) === 'The password is wrong: 1 of 5 attempts refused'")
        }
    }
}
