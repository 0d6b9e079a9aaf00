import Foundation
import Glibc
import HeadlessBrowser
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleBrowserTests {
    @Test func anOperationIsMadeByKeyboardAndItsRowFollowsTheServer() async throws {
        try await withConsole { emulator, page async throws in
            // The button has a key, the dialog puts the focus into the first field, Enter creates.
            try await page.press("n")
            try await page.wait(until: "document.activeElement.id === 'operation-template'")
            try await page.choose("login", in: "#operation-template")
            try await page.press("Tab")
            try await page.type("alice")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelectorAll('#operations-list .row').length === 1")
            try await page.wait(until: "!document.querySelector('#new-operation').open")
            let row = "document.querySelector('#operations-list .row')"
            #expect(try await page.evaluate("\(row).querySelector('.status').dataset.status") == "PENDING")
            let operation = try #require(await emulator.operations().first)
            #expect(operation.userID == "alice")

            // Somebody else cancels it; nothing is reloaded.
            try await page.evaluate("window.notReloaded = true")
            try await emulator.cloud.cancelOperation(operation.id, reason: "CHANGED_MIND")
            try await page.wait(until: "\(row).querySelector('.status').dataset.status === 'CANCELED'")
            try await page.wait(until: "\(row).textContent.includes('Changed mind')")
            #expect(try await page.isTrue("window.notReloaded"))

            // A row is opened with the keyboard, and Escape leads back to the list.
            try await page.evaluate("document.querySelector('#operations-list').focus()")
            try await page.press("ArrowDown")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#details').open")
            #expect(try await page.text(of: "#details").contains(operation.id))
            try await page.closeDetails()
            #expect(try await page.evaluate("document.activeElement.id") == "operations-list")
            try await page.wait(for: "/v2/operations", in: "#journal-list")
        }
    }

    @Test func theFormOfAnOperationHasEverythingTheServerTakes() async throws {
        try await withConsole(except: "status of 400") { emulator, page async throws in
            await emulator.clock.freeze()
            try await page.click("[data-open=new-operation]")
            try await page.choose("payment", in: "#operation-template")
            try await page.fill("[name=amount]", with: "12.50")

            // The dialog says what the server refuses, and stays open.
            try await page.fill("#operation-user", with: String(repeating: "a", count: 256))
            try await page.click("#new-operation [type=submit]")
            try await page.wait(for: "userId", in: "#new-operation .error")
            #expect(await emulator.operations().isEmpty)

            try await page.click("#operation-anybody")
            try await page.click("#operation-proximity")
            try await page.fill("#operation-lifetime", with: "77")
            try await page.click("#new-operation [type=submit]")
            try await page.wait(until: "document.querySelectorAll('#operations-list .row').length === 1")
            let operation = try #require(await emulator.operations().first)
            #expect(operation.userID == nil)
            #expect(operation.data.contains("12.50"))
            #expect(operation.proximityCode?.count == 8)
            #expect(operation.expires.timeIntervalSince(operation.created) == 77)
            try await page.wait(until: "document.querySelector('#operations-list .left').textContent === '1:17 left'")
        }
    }

    @Test func anActivationIsMadeWithItsCodeAndAdministered() async throws {
        try await withConsole(view: "activations") { emulator, page async throws in
            try await page.click("[data-open=new-activation]")
            try await page.fill("#activation-user", with: "alice")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#details img.qr')?.naturalWidth > 0")
            let activation = try #require(await emulator.activations().first)
            let code = try #require(activation.activationQRCode)
            let source = try await page.evaluate("document.querySelector('#details img.qr').src")
            #expect(URLComponents(string: source)?.queryItems?.first?.value == code)

            // Removing asks first, and the row and the open details follow.
            try await page.click("[data-action=Remove]")
            #expect(await emulator.activations().first?.status == .created)
            try await page.click("[data-action=Remove]")
            try await page.wait(status: "REMOVED", of: "#details .status")
            try await page.wait(status: "REMOVED", of: "#activations-list .status")
            #expect(await emulator.activations().first?.status == .removed)
        }
    }

    @Test func theFirstActivationIsNotSaidToBeMissing() async throws {
        let state = """
            [document.querySelector('#activations-list').parentElement.querySelector('.empty').hidden,
                document.querySelector('#tab-activations .count').textContent,
                document.querySelector('#activations-shown').textContent,
                document.querySelectorAll('#activations-list .row').length].join()
            """
        try await withConsole(view: "activations") { emulator, page async throws in
            try await page.wait(until: "\(state) === 'false,,,0'")
            try await page.evaluate("\(Self.recordStates(state)), 1")
            try await page.click("[data-open=new-activation]")
            try await page.fill("#activation-user", with: "alice")
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#details').open")
            try await page.wait(until: "\(state) === 'true,1,,1'")
            // A row is drawn with the next picture; it is never there before it is counted.
            let states = try await page.evaluate("[...window.states].join(' ')").split(separator: " ")
            #expect(Set(states).isSubset(of: ["false,,,0", "true,1,,0", "true,1,,1"]), "\(states)")
            #expect(await emulator.activations().count == 1)
        }
    }

    @Test func countsNeverLagBehindTheRows() async throws {
        let state = """
            [document.querySelector('#tab-operations .count').textContent || '0',
                document.querySelectorAll('#operations-list .row').length,
                !document.querySelector('#operations-frame').hidden].join()
            """
        // Alice has no device to make an offline code for.
        try await withConsole(except: "status of 4") { emulator, page async throws in
            try await page.wait(until: "\(state) === '0,0,false'")
            try await page.evaluate("\(Self.recordStates(state)), 1")
            for number in 1...3 {
                try await page.click("[data-open=new-operation]")
                try await page.fill("#operation-user", with: "alice")
                try await page.openDetails("#new-operation [value=offline]")
                try await page.wait(until: "\(state) === '\(number),\(number),true'")
                try await page.closeDetails()
            }
            // Made elsewhere, all at once.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...7 {
                    group.addTask { try await emulator.cloud.createOperation("login", userID: "user\(number)") }
                }
                try await group.waitForAll()
            }
            try await page.wait(until: "\(state) === '10,10,true'")
            for state in try await page.evaluate("[...window.states].join(' ')").split(separator: " ") {
                let parts = state.split(separator: ",")
                let (count, rows) = (try #require(Int(parts[0])), try #require(Int(parts[1])))
                #expect(count >= rows && parts[2] == (count > 0 ? "true" : "false"), "\(state)")
            }
        }
    }

    /// Remembers every state that the page was in whenever something has changed in it, in `window.states`.
    private static func recordStates(_ state: String) -> String {
        """
        window.states = new Set([\(state)]),
        new MutationObserver(() => window.states.add(\(state)))
            .observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
        """
    }

    @Test func whatHoldsKeysIsShownToThoseWhoKnowThePassword() async throws {
        try await withConsole(view: "connect") { emulator, page async throws in
            let text = "document.querySelector('#connect').textContent"
            try await page.wait(until: "!document.querySelector('#unlock').hidden")
            #expect(!(try await page.evaluate(text)).contains(emulator.applicationSecret))
            #expect(try await page.isTrue("document.querySelector('#export').hidden"))
            try await page.fill("#unlock-password", with: "wrong")
            try await page.press("Enter")
            try await page.wait(for: "does not know", in: "#unlock .error")
            try await page.fill("#unlock-password", with: emulator.cloudPassword)
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#unlock').hidden")
            try await page.wait(until: "\(text).includes(\(Browser.quoted(emulator.applicationSecret)))")
            #expect(try await page.evaluate(text).contains(emulator.sdkConfiguration))
            // The export is what the server would give, byte for byte.
            try await page.evaluate(
                "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.exported = text }); return '#' }, 1"
            )
            try await page.click("#export")
            try await page.wait(until: "window.exported !== undefined")
            #expect(
                try await page.evaluate("window.exported")
                    == String(decoding: try await emulator.exported(), as: UTF8.self)
            )
        }
    }

    @Test func theFingerprintStandsBesideTheCommit() async throws {
        try await withConsole(view: "activations") { emulator, page async throws in
            let registration = try await emulator.cloud.register(userID: "alice")
            let activation = try await emulator.makeClient()
                .activate(code: registration.activationQRCode, password: "1234")
            try await page.wait(status: "PENDING_COMMIT", of: "#activations-list .status")
            try await page.click("#activations-list .row")
            try await page.wait(until: "document.querySelector('[data-action=Commit]')")
            // The status is shown at once, the rest when it has been fetched.
            let details = "document.querySelector('#details').textContent"
            try await page.wait(until: "\(details).includes('\(activation.fingerprint)')")
        }
    }

    @Test func aPushMessageIsShownAsTheDeviceWouldGetIt() async throws {
        try await withConsole(view: "pushes") { emulator, page async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            try await PushService(activation: activation).register(token: "push-token", for: .apns)
            try await emulator.cloud.createOperation("login", userID: "alice")
            let row = "document.querySelector('#pushes-list .row')"
            try await page.wait(until: "\(row)?.querySelector('.status').dataset.status === 'operationInit'")
            #expect(try await page.evaluate("\(row).textContent").contains("alice"))
            try await page.openDetails("#pushes-list .row")
            let shown = try await page.text(of: "#details-body")
            #expect(shown.contains("push-token") && shown.contains("mtoken.operationInit"))
        }
    }

    @Test func versionSuiteAndFlagsStandInTheDetails() async throws {
        let (fixture, device) = try BackendFixture.with { try $0.activeDevice4(enableBiometry: true) }
        let document = Data(try fixture.exportedState().utf8)
        try await withConsole(view: "activations") { emulator, page async throws in
            try await emulator.importState(document)
            try await page.wait(until: "document.querySelector('#activations-list .row')")
            try await page.click("#activations-list .row")
            let details = "document.querySelector('#details').textContent"
            try await page.wait(until: "\(details).includes('\(device.activationID)')")
            let shown = try await page.evaluate(details)
            for text in ["4.0", "EC_P384", "BIOMETRY_IS_ON"] { #expect(shown.contains(text)) }
            try await page.click("[data-action='Block for a minute']")
            try await page.wait(until: "\(details).includes('Block ends')")
            #expect(await emulator.activations().first?.blockExpires != nil)
        }
    }

    @Test func aMessageIsMadeInThePage() async throws {
        try await withConsole(view: "messages") { emulator, page async throws in
            try await page.press("n")
            try await page.wait(until: "document.activeElement.id === 'message-user'")
            try await page.fill("#message-user", with: "alice")
            try await page.fill("#message-subject", with: "Statement")
            try await page.fill("#message-body", with: "<p>Your statement is ready.</p>")
            try await page.choose("html", in: "#message-type")
            try await page.click("#new-message [type=submit]")
            try await page.wait(until: "document.querySelectorAll('#messages-list .row').length === 1")
            let message = try #require(await emulator.messages().first)
            #expect(message.userID == "alice")
            #expect(message.subject == "Statement")
            #expect(message.summary == "<p>Your statement is ready.</p>")
            #expect(message.type == "html")
            #expect(!message.isRead)
            try await page.click("#messages-list .row")
            #expect(try await page.text(of: "#details pre") == message.body)
        }
    }

    @Test func aRefusedRequestShowsItsReasonInTheJournal() async throws {
        try await withConsole { emulator, page async throws in
            try await emulator.cloud.register(userID: "alice")
            try await emulator.send("POST", "/api/auth/token/app/operation/list", body: "{}")
            let refusal = try #require(await emulator.journal().last?.refusal)
            let row = "[...document.querySelectorAll('#journal-list .row')]"
            try await page.wait(until: "\(row).length === 2")
            #expect(try await page.evaluate("\(row)[0].textContent").contains("401"))
            #expect(try await page.evaluate("\(row)[0].textContent").contains(refusal))

            // Filters leave what they should.
            try await page.choose("refused", in: "#journal-verdict")
            try await page.wait(until: "\(row).length === 1")
            try await page.wait(until: "document.querySelector('#journal-shown').textContent === '1 of 2'")
            try await page.fill("#journal-filter", with: "registrations")
            try await page.wait(until: "\(row).length === 0")
            try await page.choose("", in: "#journal-verdict")
            try await page.wait(until: "\(row).length === 1 && \(row)[0].dataset.verdict === 'accepted'")
            try await page.fill("#journal-filter", with: "token is missing")
            // A click on the row that is about to go would open nothing.
            try await page.wait(until: "\(row).length === 1 && \(row)[0].textContent.includes('401')")

            try await page.openDetails("#journal-list .row")
            #expect(try await page.text(of: "#details-body").contains(refusal))
        }
    }

    @Test func faultsAndTheClockAreSwitchedOnAPhone() async throws {
        try await withConsole(view: "faults", width: 360, height: 740, dark: true) { emulator, page async throws in
            try await page.fill("#fault-path", with: "/anything")
            try await page.click("[data-name='Busy: 503']")
            try await page.wait(until: "document.querySelector('[role=switch][aria-checked=true]')")
            #expect(try await emulator.send("GET", "/anything").status == 503)
            #expect(try await emulator.send("GET", "/other").status == 404)
            #expect(try await page.text(of: "#fault-list").contains("/anything"))
            await emulator.faults.removeAll()
            try await page.wait(until: "!document.querySelector('[role=switch][aria-checked=true]')")

            try await page.click("#clock-manual")
            try await page.wait(until: "document.querySelector('#clock-mode').textContent === 'manual'")
            let standing = await emulator.clock.now
            try await page.click("[data-advance='3600']")
            try await page.wait(until: "document.querySelector('#shift').value === '60'")
            #expect(await emulator.clock.now == standing.addingTimeInterval(3600))
            try await page.click("#clock-machine")
            try await page.wait(until: "document.querySelector('#clock-mode').textContent === ''")
            #expect(await !emulator.clock.isManual)

            // A phone's width holds everything, and a finger hits every button.
            for view in ["operations", "activations", "messages", "journal", "faults", "clock", "connect"] {
                try await page.click("#tab-\(view)")
                #expect(try await page.evaluate("document.documentElement.scrollWidth") == "360", "\(view)")
                let small = """
                    [...document.querySelectorAll('#\(view) :is(button, input, select)')]
                        .filter((one) => one.offsetParent && !one.matches('[type=checkbox]'))
                        .filter((one) => one.getBoundingClientRect().height < 32).map((one) => one.outerHTML).join()
                    """
                #expect(try await page.evaluate(small) == "", "\(view)")
            }
        }
    }

    // MARK: What comes from outside

    /// Would run in a page that takes data for markup, and complain if the page's policy had to stop it.
    static let hostile = #"<img src=x onerror="window.ran=1"><script>window.ran=1</script>"#

    @Test func hostileTextsStayTexts() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.cloud.register(userID: Self.hostile, flags: [Self.hostile])
            let title = Self.hostile + String(repeating: "long ", count: 80) + "\u{202E}מימין לשמאל"
            try await emulator.makeCustomOperation(title: title, userID: Self.hostile)
            var message = CloudClient.NewMessage(
                userID: Self.hostile,
                subject: Self.hostile,
                summary: Self.hostile,
                body: Self.hostile
            )
            message.isHTML = true
            _ = try await emulator.cloud.createMessage(message)
            await emulator.faults.add(
                FaultRule(name: Self.hostile, match: .init(path: "/x"), effect: .init(status: 503))
            )
            try await emulator.send("POST", "/x", headers: ["X-Name: \(Self.hostile)"], body: Self.hostile)

            try await withConsole(of: emulator) { page async throws in
                for (view, cell) in [
                    ("operations", ".main"), ("activations", ".main"), ("messages", ".main"), ("journal", ".said"),
                ] {
                    try await page.click("#tab-\(view)")
                    try await page.wait(until: "document.querySelector('#\(view)-list .row')")
                    let text = try await page.evaluate("document.querySelector('#\(view)-list \(cell)').textContent")
                    #expect(text.contains(Self.hostile), "\(view)")
                    try await page.openDetails("#\(view)-list .row")
                    #expect(try await page.text(of: "#details").contains(Self.hostile), "\(view)")
                    try await page.press("Escape")
                }
                try await page.wait(until: "document.querySelector('#fault-list code')")
                #expect(try await page.text(of: "#fault-list").contains(Self.hostile))
                // Those who are offered in the forms.
                try await page.click("[data-open=new-message]")
                try await page.evaluate("document.querySelector('#message-user').blur()")
                try await page.evaluate("document.querySelector('#message-user').focus()")
                #expect(try await page.evaluate("document.querySelector('#users option').value") == Self.hostile)

                #expect(try await page.evaluate("String(window.ran)") == "undefined")
                #expect(try await page.evaluate("document.querySelectorAll('main img, main script').length") == "0")
                #expect(page.requests.count > 20)
                #expect(page.requests.allSatisfy { $0.hasPrefix(emulator.cloudURL + "/") || $0 == "about:blank" })
            }
        }
    }

    @Test func beyondLoopbackItWorksWithTheCredentials() async throws {
        var configuration = Emulator.Configuration()
        configuration.host = "0.0.0.0"
        configuration.cloudPassword = "secret"
        try await withEmulator(configuration) { emulator async throws in
            let address = "127.0.0.1:\(emulator.port)/console/"
            try await withBrowser(width: 1600, height: 900) { page async throws in
                try? await page.open("http://\(emulator.cloudUser):wrong@\(address)")
                try await page.wait(until: "location.protocol === 'chrome-error:'")
                try await page.open("http://\(emulator.cloudUser):secret@\(address)")
                try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
            }
        }
    }

    // MARK: The browser itself

    @Test func noBrowserOutlivesItsTest() async throws {
        struct Failure: Error {}
        var identifier: pid_t?
        await #expect(throws: Failure.self) {
            try await withBrowser(width: 800, height: 600) { page async throws in
                identifier = page.identifier
                throw Failure()
            }
        }
        #expect(kill(try #require(identifier), 0) != 0 && errno == ESRCH)

        // Cancelled while it waits for what never comes.
        let (identifiers, started) = AsyncStream.makeStream(of: pid_t.self)
        let task = Task {
            try await withBrowser(width: 800, height: 600) { page async throws in
                started.yield(page.identifier)
                try await page.evaluate("new Promise(() => {})")
            }
        }
        let cancelled = try #require(await identifiers.first { _ in true })
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(kill(cancelled, 0) != 0 && errno == ESRCH)
    }
}
