import ExactJSON
import HeadlessBrowser
import MobileTokenTesting
import TestSupport
import Testing

/// Tests that what the console shows at a glance is whole and true: DEFECTS3 E 48.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleGlanceTests {
    private static func isWhole(_ selector: String) -> String {
        """
        [...document.querySelectorAll('\(selector)')].filter((one) => one.scrollWidth > one.clientWidth + 1)
            .map((one) => one.textContent).join()
        """
    }

    @Test func usersAreWholeAndNotesAreNotes() async throws {
        try await withConsole(width: 1440) { emulator, page async throws in
            for number in 1...3 {
                try await emulator.cloud.createOperation("payment", userID: "customer-471100\(number)")
            }
            try await page.wait(until: "document.querySelectorAll('#operations-list .row').length === 3")
            #expect(try await page.evaluate(Self.isWhole("#operations-list .sub")) == "")
            let notes =
                "[...document.querySelectorAll('#operations-list .row .kind')].map((one) => one.textContent).join()"
            #expect(try await page.evaluate(notes) == ",,")
        }
    }

    @Test func theLastRefusedIsARequestAndLeavesRoom() async throws {
        try await withConsole(width: 1000) { emulator, page async throws in
            try await emulator.makeDevice(userID: "alice", rule: .init(.wrongPassword))
            try await emulator.createCallback("http://127.0.0.1:1/")
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            // Later than the device's refusal.
            try await emulator.cloud.createOperation("login", userID: "bob")
            try await emulator.settle(within: .seconds(60))
            let count = await emulator.journal().count
            try await page.wait(until: "document.querySelector('#tab-journal .count').textContent === '\(count)'")
            let refusal = "document.querySelector('#pulse-refused')"
            try await page.wait(until: "\(refusal).querySelector('a')")
            let shown = try await page.evaluate("\(refusal).textContent")
            let device = try #require(await emulator.journal().last { !$0.isAccepted && $0.deviceName != nil })
            #expect(try await page.evaluate("\(refusal).querySelector('a').hash").contains("\(device.id)"), "\(shown)")
            #expect(
                try await page.evaluate(
                    """
                    String(\(refusal).querySelector('a').getBoundingClientRect().right
                        <= document.querySelector('#journal .tools').getBoundingClientRect().left + 1
                        || \(refusal).getBoundingClientRect().bottom
                        <= document.querySelector('#journal .tools').getBoundingClientRect().top + 1)
                    """
                ) == "true"
            )
        }
    }

    @Test func countsAreOfAllOperationsAndDoNotWrap() async throws {
        // The page asks for operations that are gone after the reset.
        try await withConsole(except: "status of 404") { emulator, page async throws in
            for _ in 0..<150 { try await emulator.cloud.createOperation("login", userID: "alice") }
            // A slow page would fetch after the import, older ones and all, every operation that it has not heard of yet.
            let row = "document.querySelector('#operations-list .row')"
            try await page.wait(until: "\(row).getAttribute('aria-setsize') === '150'")
            let state = try await emulator.exported()
            try await emulator.reset()
            try await page.wait(until: "!\(row)")
            // Older ones than the first page do not come.
            try await page.evaluate(
                """
                window.ask = window.fetch;
                window.fetch = (...request) => (/operations\\?limit=1000/.test(String(request[0]))
                    ? new Promise(() => {}) : window.ask(...request)), 1
                """
            )
            try await emulator.importState(state)
            try await page.wait(until: "document.querySelector('#operations-counts .pending b')?.textContent === '150'")
            try await page.wait(until: "document.querySelector('#operations-shown').textContent === '100 of 150'")
            let tall =
                "[...document.querySelectorAll('.counts span, .count')].filter((one) => one.getClientRects().length > 1)"
            #expect(try await page.evaluate("String(\(tall).length)") == "0")
        }
    }

    @Test func whatIsOldDoesNotLookAlive() async throws {
        // The server is gone.
        try await withConsole(except: "net::ERR_") { emulator, page async throws in
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await page.wait(until: "document.querySelectorAll('#operations-list .row').length === 1")
            #expect(try await page.isTrue("document.querySelector('#stale').hidden"))
            await emulator.stop()
            try await page.wait(until: "!document.querySelector('#stale').hidden")
            #expect(try await page.text(of: "#stale").hasPrefix("Connection lost: this is how it was at "))
            #expect(try await page.evaluate("document.querySelector('#connection').dataset.state") == "lost")
            #expect(try await page.evaluate(Self.isWhole("#connection")) == "")
            #expect(try await page.evaluate("getComputedStyle(document.querySelector('#operations')).opacity") != "1")
        }
    }

    @Test func theUserIsTheServers() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.cloudUser = "bank" }) { emulator async throws in
            try await withConsole(of: emulator, view: "connect") { page async throws in
                try await page.wait(until: "document.querySelector('#unlock-user').value === 'bank'")
            }
        }
    }

    /// One factor without variants, and risk flags without screens: the phone shows what servers leave out.
    @Test func aBareOperationIsOnThePhone() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.addTemplate(
                """
                {"name": "bare", "data": "A2", "riskFlags": "XCF", "allowedSignatureType": {"type": "1FA", "variants": []},
                 "formData": {"title": "T", "message": "M", "attributes": [
                   {"type": "KEY_VALUE", "id": "k", "label": "Key", "value": "Value"}]}}
                """
            )
            let phone = "document.querySelector('#stage .phone')"
            try await emulator.cloud.createOperation("bare", userID: "alice")
            for text in ["Before: WARNING", "Signed with possession; not during a call", "KeyValue"] {
                try await page.wait(until: "\(phone)?.textContent.includes('\(text)')")
            }
            #expect(try await page.evaluate("\(phone).querySelector('footer .key').textContent") == "Approve")
            #expect(try await page.isTrue("\(phone).textContent.includes('undefined')") == false)
            try await emulator.cloud.createOperation("login_preApproval", userID: "alice")
            try await page.wait(until: "\(phone)?.querySelector('[aria-label^=Before]')?.textContent.includes('• ')")
        }
    }

    /// The phone says so if something else is read than signed.
    @Test func doubtsStandOnThePhone() async throws {
        try await withConsole { emulator, page async throws in
            let phone = "document.querySelector('#stage .phone')"
            let form: JSONValue = [
                "title": "Payment", "message": "Pay?",
                "attributes": [
                    ["id": "operation.amount", "type": "AMOUNT", "label": "Amount", "amount": 1, "currency": "CZK"]
                ],
            ]
            try await emulator.cloud.createOperation("payment", userID: "alice")
            try await page.wait(until: "\(phone)?.textContent.includes('Signed with')")
            #expect(try await page.evaluate("String(\(phone).querySelector('.doubts'))") == "null")
            try await emulator.cloud.createOperation(
                named: "payment",
                data: "A1*A100CZK",
                formData: form,
                userID: "alice"
            )
            try await page.wait(until: "\(phone)?.querySelector('.doubts')?.textContent.includes('Amount not signed')")
        }
    }
}
