import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import HeadlessBrowser
import MobileTokenCloud
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
            try await page.wait(for: "expires in 1:30", in: "#clock-next")
            try await page.click("#clock-next button")
            try await page.wait(for: "expires in 13:30", in: "#clock-next")
            #expect(await emulator.operations().filter { $0.status == .expired }.map(\.id) == [next.id])
            // Whatever else waits for its time.
            try await emulator.cloud.register(userID: "bob")
            try await emulator.makeDevice(userID: "later", name: "Phone", rule: .init(.approve, after: 30))
            try await emulator.cloud.createCallback(
                .init(name: "core", subject: .operations, url: "http://127.0.0.1:1/", maximumAttempts: 2)
            )
            try await emulator.cloud.createOperation("login", userID: "carol")
            try await emulator.settle(within: .seconds(60))
            let list = "[...document.querySelectorAll('#clock-next li')].map((one) => one.textContent).join()"
            for text in ["The callback core is sent in 0:02", "Phone decides in 0:30", "The code of bob expires in "] {
                try await page.wait(until: "\(list).includes('\(text)')")
            }
            try await page.click("[aria-label='Jump to when Phone decides']")
            try await page.wait(until: "!\(list).includes('Phone')")
            #expect(await emulator.operations().contains { $0.userID == "later" && $0.status == .approved })
        }
    }

    /// Each view has a choice of the application, and each form makes something of the chosen one.
    @Test func severalApplicationsAreToldApart() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let rows = "document.querySelectorAll('#operations-list .row')"
            try await page.wait(until: "\(rows).length === 1")
            #expect(try await page.isTrue("document.querySelector('#operations-application').hidden"))
            _ = try await emulator.cloud.createApplication(id: "second")
            try await page.wait(until: "!document.querySelector('#operations-application').hidden")
            try await page.click("[data-open=new-operation]")
            try await page.fill("#operation-user", with: "bob")
            #expect(
                try await page.evaluate("document.querySelector('#operation-application').value")
                    == emulator.applicationID
            )
            try await page.choose("second", in: "#operation-application")
            try await page.click("#new-operation [type=submit]")
            try await page.wait(until: "\(rows).length === 2")
            #expect(await emulator.operations().map(\.operation.applicationID) == ["second", emulator.applicationID])
            try await page.choose("second", in: "#operations-application")
            try await page.wait(until: "\(rows).length === 1 && \(rows)[0].textContent.includes('bob')")
            #expect(try await page.evaluate("\(rows)[0].querySelector('.application').textContent") == "second")
            #expect(try await page.evaluate("location.hash") == "#operations?operations.application=second")
            try await page.evaluate("window.isFormer = true, location.reload(), 1")
            try await page.wait(until: "!window.isFormer && 'ready' in document.body.dataset && \(rows).length === 1")
            // A phone of the other application.
            try await page.click("#tab-activations")
            try await page.click("#activations [data-open=new-activation]")
            try await page.fill("#activation-user", with: "bob")
            try await page.click("#activation-virtual")
            try await page.choose("second", in: "#activation-application")
            try await page.click("#new-activation [type=submit]")
            try await page.wait(until: "document.querySelector('#details[open]')")
            #expect(await emulator.devices().map(\.applicationID) == ["second"])
        }
    }

    /// A pending operation says it in its summary, which on a phone is above the drawing.
    @Test func anOperationSaysWhatItWaitsFor() async throws {
        try await withConsole(width: 390) { emulator, page async throws in
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await page.go(to: "operations/\(made.id)")
            let summary = "document.querySelector('#details .summary')"
            try await page.wait(
                until: "\(summary)?.textContent.includes('Alice has no registration that may decide it.')"
            )
            let top = "getBoundingClientRect().top"
            try await page.wait(until: "\(summary).\(top) < document.querySelector('#details .phone').\(top)")
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
            #expect(try await page.isTrue("document.querySelector('#keys').open") == false)
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
            let struck = "document.querySelector('#fault-struck').textContent"
            try await page.wait(until: "\(struck).includes('GET /x') && \(struck).includes('Once')")
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
                let first = try await page.text(of: "#spaces-list li")
                #expect(first.hasPrefix("✗ older · 1 operation · 1 refused: 'template' names no template"), "\(first)")
                #expect(first.contains("“PENDING is not APPROVED”"), "\(first)")
                // One step to the reason.
                let reason = try await page.evaluate("document.querySelectorAll('#spaces-list a')[1].href")
                let refused = try #require(await failed.journal().last { !$0.isAccepted })
                #expect(reason == "\(failed.cloudURL)/console/#journal/\(refused.id)")
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
                #expect(try await page.isTrue("document.querySelector('#details').open") == false)
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
            try await page.go(to: "operations/\(made.id)")
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
            #expect(try await page.evaluate(json) == "\(emulator.cloudURL)/_emulator/operations/\(made.id)/history")
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
            try await page.wait(for: "The code expired at ", in: "#details")
            try await page.press("Escape")
            try await page.wait(until: "!document.querySelector('#details[open]')")
            let second = try await emulator.cloud.register(userID: "bob")
            try await page.go(to: "activations/\(second.id)")
            // Not those of the first, which have the same button.
            try await page.wait(
                until: """
                    document.querySelector('#details[open]').textContent.includes('bob')
                        && document.querySelector("[data-action='Activate with a virtual phone']")
                    """
            )
            try await page.click("[data-action='Activate with a virtual phone']")
            try await page.wait(until: "document.querySelector('[data-action=Commit]')")
            #expect(await emulator.devices().map(\.id) == [second.id] && first.id != second.id)
        }
    }

    @Test func theTriesOfACallbackAreOneRow() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.createCallback("http://127.0.0.1:1/")
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
            try await emulator.createCallback("http://127.0.0.1:1/")
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
