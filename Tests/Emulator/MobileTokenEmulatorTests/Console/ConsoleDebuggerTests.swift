import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import HeadlessBrowser
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import TestSupport
import Testing

/// The console as a debugger, in a real browser.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleDebuggerTests {
    private static let details = "document.querySelector('#details').textContent"

    private func open(_ address: String, until text: String, _ page: Browser) async throws -> String {
        try await page.evaluate("location.hash = \(Browser.quoted(address)), 1")
        let found = "\(Self.details).includes(\(Browser.quoted(text)))"
        try await page.wait(until: "document.querySelector('#details').open && \(found)")
        return try await page.evaluate(Self.details)
    }

    @Test func itTellsWhyASignatureFailed() async throws {
        try await withConsole { emulator, page async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = OperationsService(activation: activation)
            try await emulator.cloud.createOperation("login", userID: "alice")
            let operation = try #require(try await operations.operations().first)
            await #expect(throws: MobileTokenError.self) {
                try await operations.authorize(operation, with: .possessionAndKnowledge(password: "0000"))
            }
            // The client asks for its status afterwards.
            let entry = try #require(await emulator.journal().last { $0.path.hasSuffix("/operation/authorize") })
            let shown = try await self.open("journal/\(entry.id)", until: "Signature is wrong", page)
            for text in [
                "The password is wrong", "possession and knowledge", "/operation/authorize", "What was signed", "POST&",
                #""id": "\#(operation.id)""#, "Copy as curl",
            ] {
                #expect(shown.contains(text), "\(text)")
            }
            #expect(!shown.contains(emulator.applicationSecret))
            let components = "[...document.querySelectorAll('.components li')].map((one) => one.textContent).join()"
            #expect(try await page.evaluate(components) == "possession matches,knowledge does not match")

            // From there to the operation, which tells the same, and back.
            try await page.evaluate("window.notReloaded = true")
            try await page.click("#details a", named: operation.id)
            try await page.wait(until: "\(Self.details).includes('Approval refused')")
            #expect(try await page.evaluate(Self.details).contains("The password is wrong"))
            try await page.evaluate("history.back()")
            try await page.wait(until: "\(Self.details).includes('Signature is wrong')")
            #expect(try await page.isTrue("window.notReloaded"))
        }
    }

    @Test func bodiesAreShownDecryptedWithoutSecrets() async throws {
        try await withConsole { emulator, page async throws in
            _ = try await emulator.makeActivation(user: "alice", password: "1234")
            let entry = try #require(await emulator.journal().first { $0.path.hasSuffix("/activation/create") })
            let shown = try await self.open("journal/\(entry.id)", until: "Request, decrypted, inner layer", page)
            for text in [
                "identityAttributes", "devicePublicKey", "Response, decrypted", "serverPublicKey", "(not shown)",
            ] {
                #expect(shown.contains(text), "\(text)")
            }
            #expect(shown.contains("ephemeralPublicKey"))  // what was sent is there as well
        }
    }

    @Test func theLifeOfAnOperationFollowsWhatHappens() async throws {
        try await withConsole { emulator, page async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", name: "alice’s phone")
            let operations = OperationsService(activation: activation)
            let made = try await emulator.cloud.createOperation("payment", userID: "alice")
            _ = try await self.open("operations/\(made.id)", until: "Created", page)
            // It is open while a device lists it and approves; nothing is clicked.
            let operation = try #require(try await operations.operations().first)
            try await page.wait(until: "\(Self.details).includes('In the list of')")
            try await operations.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
            try await page.wait(until: "\(Self.details).includes('Approved by')")
            let moments =
                "[...document.querySelectorAll('#details .moments li')].map((one) => one.textContent).join('|')"
            let told = try await page.evaluate(moments)
            #expect(told.contains("alice’s phone") && told.contains("signed with possession and knowledge"))
            #expect(try await page.count(of: "#details .moments li") == 3)

            // All its requests: the journal is filtered, and says so in the address.
            try await page.click("#details a", named: "All its requests")
            try await page.wait(until: "!document.querySelector('#details').open")
            try await page.wait(until: "document.querySelectorAll('#journal-list .row').length === 3")
            #expect(try await page.evaluate("document.querySelector('#journal-filter').value") == made.id)
        }
    }

    @Test func anOperationIsShownAsAPhoneWould() async throws {
        try await withConsole { emulator, page async throws in
            let made = try await emulator.cloud.createOperation("payment", userID: "alice")
            _ = try await self.open("operations/\(made.id)", until: "Confirm Payment", page)
            let phone = "document.querySelector('#details .phone')"
            // Approve comes first where the operation asks for it.
            let keys =
                "[...document.querySelectorAll('#details .phone .keys .key')].map((one) => one.textContent).join()"
            #expect(try await page.evaluate(keys) == "Approve,Reject")
            #expect(try await page.evaluate("\(phone).lang") == "en")
            try await page.choose("cs", in: "#details [data-action=language]")
            try await page.wait(until: "\(phone).textContent.includes('Potvrzení platby')")
            #expect(try await page.evaluate("\(phone).lang") == "cs")
            // Nothing of the phone acts.
            #expect(try await page.count(of: "#details .phone :is(button, a, img)") == 0)
        }
    }

    /// The page asks again for another language; what it asked before may be answered last.
    @Test func anAnswerThatWasOvertakenIsNotShown() async throws {
        try await withConsole { emulator, page async throws in
            let made = try await emulator.cloud.createOperation("payment", userID: "alice")
            _ = try await self.open("operations/\(made.id)", until: "Confirm Payment", page)
            try await page.evaluate(
                """
                { const send = window.fetch; window.fetch = async (...request) => { const answer = await send(...request); \
                if (!String(request[0]).includes('preview?language=de')) return answer; \
                const read = new Response(await answer.text()); \
                return new Promise((done) => { window.deliver = () => done(read); }); }; }
                """
            )
            try await page.choose("de", in: "#details [data-action=language]")
            try await page.wait(until: "window.deliver")
            try await page.choose("cs", in: "#details [data-action=language]")
            let isCzech = "document.querySelector('#details .phone').textContent.includes('Potvrzení platby')"
            try await page.wait(until: isCzech)
            try await page.evaluate("window.deliver()")
            for _ in 0..<3 { try await page.evaluate("new Promise(requestAnimationFrame)") }
            #expect(try await page.isTrue(isCzech))
        }
    }

    @Test func aTemplateIsPreviewedAndBecomesAnOperation() async throws {
        try await withConsole(view: "templates", except: "status of 400") { emulator, page async throws in
            try await page.wait(until: "document.querySelector('#templates-list .row')")
            try await page.fill("#templates-filter", with: "payment_shop")
            try await page.wait(until: "document.querySelectorAll('#templates-list .row').length === 1")
            _ = try await self.open("templates/payment", until: "Confirm Payment", page)
            try await page.evaluate(
                """
                { const input = document.querySelector('#details [name=amount]'); input.value = '77.70'; \
                input.dispatchEvent(new Event('input')); }
                """
            )
            try await page.wait(for: "77.70", in: "#details .phone")
            #expect(await emulator.operations().isEmpty)
            try await page.evaluate(
                """
                { const input = document.querySelector('#details [name=amount]'); input.value = 'much'; \
                input.dispatchEvent(new Event('input')); }
                """
            )
            // As real servers show an amount that is no number.
            try await page.wait(for: "much", in: "#details .phone")
            try await page.evaluate(
                """
                { const input = document.querySelector('#details [name=amount]'); input.value = '77.70'; \
                input.dispatchEvent(new Event('input')); }
                """
            )
            try await page.wait(for: "77.70", in: "#details .phone")
            try await page.click("[data-action='New operation of it']")
            try await page.wait(until: "document.querySelector('#new-operation').open")
            try await page.fill("#operation-user", with: "alice")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#tab-operations .count').textContent === '1'")
            #expect(try #require(await emulator.operations().first).data.contains("77.70"))
        }
    }

    @Test func everyTemplateHasAPreview() async throws {
        try await withConsole(view: "templates") { emulator, page async throws in
            for template in await emulator.templates() {
                try await page.go(to: "templates/\(template.name)")
                try await page.wait(status: template.name, of: "#details .status")
                try await page.wait(until: "document.querySelector('#details .phone .keys .key')")
                let shown = try await page.text(of: "#details .phone")
                #expect(!shown.contains("undefined") && !shown.contains("[object"), "\(template.name)")
            }
        }
    }

    @Test func deliveriesShowTheirAttemptsAndAreSentAgain() async throws {
        let status = Shared(503)
        try await withServer({ _ in .json(["noted": true], status: status.value) }) { bank in
            try await withConsole(view: "callbacks") { emulator, page async throws in
                try await emulator.createCallback("http://127.0.0.1:\(bank.port)/hook")
                let made = try await emulator.cloud.createOperation("login", userID: "alice")
                let row = "document.querySelector('#deliveries-list .row')"
                try await page.wait(until: "\(row)?.querySelector('.status').dataset.status === 'failed'")
                try await page.openDetails("#deliveries-list .row")
                let attempts = "document.querySelectorAll('#details .moments li').length"
                try await page.wait(until: "\(attempts) === 1")
                let shown = try await page.evaluate(Self.details)
                #expect(shown.contains("answered 503") && shown.contains(made.id))
                status.value = 200
                try await page.click("[data-action='Send again']")
                try await page.wait(status: "delivered", of: "#details .status")
                try await page.wait(until: "\(attempts) === 2")
                try await page.wait(until: "\(row).querySelector('.status').dataset.status === 'delivered'")

                // Filtered by state, and from an attempt to its request.
                try await page.click("#details .moments a")
                try await page.wait(for: "/hook", in: "#details-title")
                #expect(try await page.evaluate(Self.details).contains("Number 1"))
                try await page.press("Escape")
                try await page.choose("waiting", in: "#deliveries-status")
                try await page.wait(until: "\(row) === null")
            }
        }
    }

    /// Returns what the button puts on the clipboard.
    private func copiedCommand(of entry: Emulator.JournalEntry, _ page: Browser) async throws -> String {
        try await page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }, 1")
        _ = try await self.open("journal/\(entry.id)", until: "Copy as curl", page)
        try await page.click("#details-actions button", named: "Copy as curl")
        try await page.wait(until: "window.copied")
        return try await page.evaluate("window.copied")
    }

    @Test func aRequestIsCopiedAsACommandThatDoesTheSame() async throws {
        try await withConsole(view: "journal") { emulator, page async throws in
            let body = #"{"userId":"it's $HOME `x` \\ \"quoted\"","template":"login"}"#
            try await emulator.bank("POST", "/v2/operations", body)
            let entry = try #require(await emulator.journal().last)
            #expect(entry.status == 200)
            let command = try await self.copiedCommand(of: entry, page)
            #expect(command.hasPrefix("curl -X POST '\(emulator.cloudURL)/v2/operations'"))
            #expect(!command.contains(emulator.cloudPassword))

            let shell = try await ChildProcess.run(
                "/bin/sh",
                ["-c", command + " -s -o /dev/null"],
                environment: [
                    "PATH": "/usr/bin:/bin", "CLOUD_USER": emulator.cloudUser, "CLOUD_PASSWORD": emulator.cloudPassword,
                ]
            )
            #expect(shell.exitCode == 0, "\(shell.errors)")
            let users = await emulator.operations().map(\.userID)
            #expect(users == Array(repeating: #"it's $HOME `x` \ "quoted""#, count: 2))
        }
    }

    /// Everybody who can connect chooses all of these, and somebody else runs what is copied.
    @Test(arguments: [
        ("$(touch${IFS}planted)", "/v2/operations"), ("X';touch${IFS}planted;'", "/v2/operations"),
        ("GET", "//planted.example/$(touch${IFS}planted)"), ("GET", "/{a,b}[1-3]?c=`touch${IFS}planted`"),
    ])
    func nothingPlantedInARequestIsRunOrMisledByTheCommand(method: String, target: String) async throws {
        try await withConsole(view: "journal") { emulator, page async throws in
            let client = try RawConnection(port: emulator.port)
            try await client.send("\(method) \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            _ = try await client.response()
            let entry = try #require(await emulator.journal().last)
            #expect(entry.method == method)
            let command = try await self.copiedCommand(of: entry, page)

            let folder = try TemporaryFolder()
            // The words of the command as the shell reads them, in the place of the program that it names.
            let script = "cd '\(folder.path)'; curl() { printf '%s\\n' \"$@\" > words; }; " + command
            _ = try await ChildProcess.run("/bin/sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["words"])
            let words = try String(contentsOfFile: folder.path + "/words", encoding: .utf8)
                .split(separator: "\n").map(String.init)
            #expect(words.contains(method))
            let address = try #require(words.first { $0.hasPrefix("http") })
            #expect(
                URL(string: address)?.host() == "127.0.0.1" || address.hasPrefix("http://127.0.0.1:\(emulator.port)/")
            )
            #expect(words.contains("--globoff") == target.contains("{"))
        }
    }

    // MARK: What comes from outside

    @Test func markupInEveryViewIsInert() async throws {
        let hostile = ConsoleBrowserTests.hostile
        var configuration = Emulator.Configuration()
        let text = JSONValue.string(hostile)
        let template: JSONValue = [
            "name": "hostile", "data": "A1", "allowedSignatureType": ["type": "1FA", "variants": ["possession"]],
            "texts": ["en": ["title": text]],
            "formData": [
                "title": "@{title}", "message": text, "resultTexts": ["success": text],
                "attributes": [
                    ["type": "ALERT", "label": text, "alertType": text, "title": text, "message": text],
                    [
                        "type": "PARTY_INFO", "label": text,
                        "partyInfo": ["logoUrl": text, "name": text, "websiteUrl": text],
                    ],
                    ["type": "IMAGE", "label": text, "thumbnailUrl": text], ["type": text, "label": text],
                ],
            ],
            "ui": [
                "preApprovalScreens": [
                    [
                        "type": text, "heading": text, "message": text,
                        "elements": [["type": "BUTTON", "text": text, "href": text]],
                    ]
                ],
                "postApprovalScreen": ["type": "GENERIC", "heading": text, "payload": ["x": text]],
            ],
        ]
        configuration.templates = [String(decoding: template.serialized(), as: UTF8.self)]
        try await withEmulator(configuration) { emulator async throws in
            let activation = try await emulator.makeActivation(user: hostile, password: "1234", name: hostile)
            try await PushService(activation: activation).register(token: hostile, for: .apns)
            try await emulator.createCallback("http://127.0.0.1:1/%3Cb%3E")
            let made = try await emulator.cloud.createOperation("hostile", userID: hostile)
            _ = try await OperationsService(activation: activation).operations()
            try await emulator.cloud.cancelOperation(made.id, reason: String(hostile.prefix(32)))
            try await emulator.send("POST", "/x", headers: ["X-Name: \(hostile)"], body: hostile)
            let last = try #require(await emulator.journal().last { $0.path == "/x" })
            let push = try #require(await emulator.pushes().last)
            let delivery = try #require(emulator.deliveries().last)

            try await withConsole(of: emulator, width: 1000) { page async throws in
                for (address, has) in [
                    ("operations/\(made.id)", hostile), ("activations/\(activation.activationID)", hostile),
                    ("journal/\(last.id)", hostile), ("pushes/\(push.id)", hostile), ("templates/hostile", hostile),
                    ("deliveries/\(delivery.id)", "%3Cb%3E"),
                ] {
                    let shown = try await self.open(address, until: has, page)
                    #expect(!shown.contains("Not there"), "\(address)")
                    let elements =
                        "document.querySelectorAll('main img, main script, #details script, #details img').length"
                    #expect(try await page.evaluate("String(\(elements))") == "0", "\(address)")
                    try await page.press("Escape")
                    try await page.wait(
                        until: "!document.querySelector('#details').open && !location.hash.includes('/')"
                    )
                }
                #expect(try await page.evaluate("String(window.ran)") == "undefined")
                #expect(page.requests.allSatisfy { $0.hasPrefix(emulator.cloudURL + "/") || $0 == "about:blank" })
            }
        }
    }

    // MARK: The keyboard

    @Test func theKeyboardAloneReachesEverything() async throws {
        try await withConsole(width: 1024, height: 700) { emulator, page async throws in
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await page.wait(until: "document.querySelector('#operations-list .row')")
            // Along the rail with the arrows, from view to view.
            try await page.evaluate("document.querySelector('#tab-operations').focus()")
            var seen: [String] = []
            for _ in 1...20 {
                try await page.press("ArrowDown")
                let view = try await page.evaluate("location.hash.slice(1)")
                seen.append(view)
                #expect(try await page.evaluate("document.activeElement.id") == "tab-\(view)")
                if view == "operations" { break }
            }
            #expect(
                Set(seen) == [
                    "activations", "messages", "pushes", "callbacks", "templates", "journal", "faults", "clock",
                    "spaces", "connect",
                    "operations",
                ]
            )
            // Into the list, an operation, and by Tab alone to everything in it that can be used.
            try await page.evaluate("document.querySelector('#operations-list').focus()")
            try await page.press("ArrowDown")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#details').open")
            try await page.wait(until: "\(Self.details).includes('\(made.id)')")
            let usable = "#details :is(a, button, select, input, summary)"
            let expected = try await page.evaluate(
                "String([...document.querySelectorAll('\(usable)')].filter((one) => one.checkVisibility()).length)"
            )
            try await page.evaluate("window.reached = new Set(), 1")
            for _ in 1...(2 * (Int(expected) ?? 0) + 4) {
                try await page.press("Tab")
                try await page.evaluate(
                    "document.activeElement.matches('\(usable)') && window.reached.add(document.activeElement), 1"
                )
            }
            #expect(try await page.evaluate("String(window.reached.size)") == expected)
            // A link is followed with Enter, and the way back is a key.
            try await page.evaluate("document.querySelector('#details .moments a').focus()")
            try await page.press("Enter")
            try await page.wait(until: "location.hash.includes('journal')")
            try await page.wait(for: "POST", in: "#details-title")
            #expect(try await page.evaluate("document.activeElement.matches('#details .close')") == "1")
            try await page.closeDetails()
        }
    }
}
