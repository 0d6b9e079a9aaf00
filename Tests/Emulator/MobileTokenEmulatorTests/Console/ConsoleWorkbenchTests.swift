import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import HeadlessBrowser
import MobileTokenTesting
import TestSupport
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
            try await page.wait(until: "document.querySelector('#clock-next').textContent.includes('expires in 1:30')")
            try await page.click("#clock-next button")
            try await page.wait(until: "document.querySelector('#clock-next').textContent.includes('expires in 13:30')")
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
            try await failed.cloud.createOperation("login", userID: "alice")
            _ = try? await failed.cloud.createOperation("none", userID: "alice")
            try await failed.markFailed(because: "PENDING is not APPROVED")
            _ = try await emulator.makeSpace(named: "newer")
            try await withConsole(of: emulator, view: "spaces") { page async throws in
                try await page.wait(until: "document.querySelectorAll('#spaces-list li').length === 2")
                let first = try await page.evaluate("document.querySelector('#spaces-list li').textContent")
                #expect(first.hasPrefix("✗ older · 1 operation · 1 refused“PENDING is not APPROVED”"), "\(first)")
                try await page.fill("#spaces-filter", with: "pending IS")
                try await page.wait(until: "document.querySelectorAll('#spaces-list li').length === 1")
                let count = "document.querySelector('#spaces-count').textContent"
                #expect(try await page.evaluate(count) == "1 failed, 1 of 2 shown")
                // There, and the way back.
                try await page.click("#spaces-list a")
                try await page.wait(until: "location.pathname.includes('/spaces/')")
                try await page.wait(until: "document.querySelector('#connection')?.dataset.state === 'live'")
                try await page.click("#above")
                try await page.wait(until: "!location.pathname.includes('/spaces/')")
                try await page.wait(until: "document.querySelectorAll('#spaces-list li').length === 2")
            }
        }
    }

    /// A row tells of whom and to whom, a callback how it does, and one press sends again.
    @Test func deliveriesSpeak() async throws {
        let status = Shared(503)
        try await withServer({ _ in .json([:], status: status.value) }) { bank in
            try await withConsole(view: "callbacks") { emulator, page async throws in
                try await emulator.cloud.createCallback(
                    .init(
                        name: "core",
                        subject: .operations,
                        url: "http://127.0.0.1:\(bank.port)/",
                        attributes: ["status"]
                    )
                )
                try await emulator.cloud.createOperation("payment", userID: "alice")
                try await emulator.cloud.createOperation("login", userID: "bob")
                try await emulator.settle(within: .seconds(60))
                let row = "document.querySelectorAll('#deliveries-list .row')[1]"
                for text in ["Pending · CZK", "alice → core", "the bank answered 503", "Send again"] {
                    try await page.wait(until: "\(row)?.textContent.includes('\(text)')")
                }
                let head = "document.querySelector('#callbacks-list li').textContent"
                try await page.wait(until: "/failing since \\d.*, 2 of 2 failed/.test(\(head))")
                let figure = "document.querySelector('#pulse-refused .failing')?.textContent"
                try await page.wait(until: "\(figure) === 'Callbacks failing: 1'")
                status.value = 200
                try await page.evaluate("\(row).querySelector('.act').click()")
                try await page.wait(until: "\(row).querySelector('.status').dataset.status === 'delivered'")
                #expect(try await page.evaluate("String(document.querySelector('#details').open)") == "false")
                try await page.click("[aria-label='Resend failed core']")
                try await page.wait(
                    until: "\(head).includes('Active') && !document.querySelector('#deliveries-list .act')"
                )
                try await page.wait(until: "\(figure) === undefined")
                try await page.click("[aria-label='Send test core']")
                let newest = "document.querySelector('#deliveries-list .row').textContent"
                try await page.wait(until: "\(newest).includes('nothing: a test')")
            }
        }
    }

    /// Push, pauses, equal refusals, and which attempt of a callback it is: in one list, and as JSON.
    @Test func oneTimelineTellsAll() async throws {
        try await withConsole { emulator, page async throws in
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 2_000_000_000))
            try await emulator.cloud.createCallback(
                .init(name: "core", subject: .operations, url: "http://127.0.0.1:1/", maximumAttempts: 5)
            )
            let device = try await emulator.makeDevice(userID: "alice", push: "apns", rule: .init(.never))
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            try await page.evaluate("location.hash = 'operations/\(made.id)', 1")
            let moments =
                "[...document.querySelectorAll('#details .moments li')].map((one) => one.textContent).join('|')"
            for text in ["Created", "Pushed to", "Callback 1 of 5 core", ", next in 2 s"] {
                try await page.wait(until: "\(moments).includes('\(text)')")
            }
            await emulator.clock.advance(by: .seconds(2))
            try await emulator.settle(within: .seconds(60))
            for _ in 1...3 { try await emulator.decide(made.id, .wrongPassword, byDevice: device.id) }
            for text in ["Callback 2 of 5 core", "Approval refused × 3", "The password is wrong"] {
                try await page.wait(until: "\(moments).includes('\(text)')")
            }
            let pauses = "[...document.querySelectorAll('#details [data-gap]')].map((one) => one.dataset.gap).join()"
            #expect(try await page.evaluate(pauses) == "2.0 s later")
            let json = "[...document.querySelectorAll('#details a')].find((one) => one.textContent === 'As JSON').href"
            let address = try await page.evaluate(json)
            #expect(address == "\(emulator.cloudURL)/_emulator/operations/\(made.id)/history")
        }
    }

    @Test func whatADeviceDoesInTheBanksSteadIsMarked() async throws {
        try await withConsole(view: "journal") { emulator, page async throws in
            try await emulator.makeDevice(userID: "alice", name: "Alice’s phone")
            try await emulator.cloud.register(userID: "bob")
            let rows = "[...document.querySelectorAll('#journal-list .row')]"
            let marked = "\(rows).filter((one) => one.textContent.includes('in the bank’s stead')).length"
            try await page.wait(until: "\(rows)[0]?.textContent.includes('/v2/registrations') && \(marked) === 2")
            let heads = "[...document.querySelectorAll('#journal .head span')].map((one) => one.textContent).join()"
            #expect(try await page.evaluate(heads) == "Code,,Request,Outcome,Caller,Time")
        }
    }

    @Test func aBackEndIsConnectedByCopying() async throws {
        try await withEmulator { emulator async throws in
            try await withConsole(of: emulator, view: "connect") { page async throws in
                try await page.wait(until: "!document.querySelector('#unlock').hidden")
                try await page.fill("#unlock-password", with: emulator.cloudPassword)
                try await page.press("Enter")
                let text = "document.querySelector('#command pre')?.textContent"
                for (tab, line) in [
                    (".env", "MOBILE_TOKEN_CLOUD_URL=\(emulator.cloudURL)\n"),
                    ("Spring", "mobile-token.url=\(emulator.baseURL)\n"),
                    ("pytest", "MOBILE_TOKEN_CLOUD_PASSWORD='\(emulator.cloudPassword)' "),
                    ("curl", "-u 'developer:\(emulator.cloudPassword)' "),
                    ("mobile-token", "--sdk-configuration \(emulator.sdkConfiguration)"),
                ] {
                    let button =
                        "[...document.querySelectorAll('#command button')].find((one) => one.textContent === '\(tab)')"
                    try await page.wait(until: button)
                    try await page.evaluate("\(button).click()")
                    try await page.wait(until: "\(text).includes(\(Browser.quoted(line)))")
                }
            }
        }
    }

    @Test func aRegistrationTellsHowLongAndIsActivatedHere() async throws {
        try await withConsole(view: "activations") { emulator, page async throws in
            await emulator.clock.freeze()
            let first = try await emulator.cloud.register(userID: "alice")
            let row = "document.querySelector('#activations-list .row').textContent"
            try await page.wait(until: "/\\d:\\d\\d left/.test(\(row)) && \(row).includes('mobile-token')")
            await emulator.clock.advance(by: .seconds(3600))
            try await page.wait(until: "\(row).includes('the code expired at ')")
            try await page.click("#activations-list .row")
            try await page.wait(
                until: "document.querySelector('#details').textContent.includes('The code expired at ')"
            )
            try await page.press("Escape")
            let second = try await emulator.cloud.register(userID: "bob")
            try await page.evaluate("location.hash = 'activations/\(second.id)', 1")
            try await page.wait(until: "document.querySelector(\"[data-action='Activate with a virtual phone']\")")
            try await page.click("[data-action='Activate with a virtual phone']")
            try await page.wait(until: "document.querySelector('[data-action=Commit]')")
            #expect(await emulator.devices().map(\.id) == [second.id] && first.id != second.id)
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
            // By the callback's name, and from when to when.
            let row = try await page.evaluate("\(rows)[0].textContent")
            #expect(row.contains("bank") && row.contains(/\d\d:\d\d:\d\d–\d\d:\d\d:\d\d/), "\(row)")
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
