import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import HeadlessBrowser
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// The first view of a visitor, in a real browser.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleShowcaseTests {
    private static let details = "document.querySelector('#details').textContent"
    private static let row = "document.querySelector('#operations-list .row')"

    // MARK: The phone

    @Test func anApprovalIsTwoClicksAway() async throws {
        try await withConsole(width: 1400) { emulator, page async throws in
            try await page.wait(until: "document.querySelector('#stage .idle')")
            // The commands beside the buttons do the same, and are whole.
            let commands = try await page.evaluate(
                "[...document.querySelectorAll('#guide pre')].map((one) => one.textContent).join('\\n---\\n')"
            )
            #expect(commands.components(separatedBy: "curl -X POST '\(emulator.cloudURL)/_emulator/").count == 4)

            try await page.click("[data-step='1']")
            // It rings: the amount is the largest there is on the phone, its buttons are real.
            try await page.wait(until: "document.querySelector('#stage .controls button.primary')")
            #expect(await emulator.devices().map(\.userID) == ["alice"])
            try await page.wait(until: "!document.querySelector('[data-step=\"2\"]').disabled")
            try await page.wait(until: "document.querySelector('#stage .money')")
            let size = "(one) => parseFloat(getComputedStyle(one).fontSize)"
            let largest = """
                Math.max(...[...document.querySelectorAll('#stage .glass *')].map(\(size))) \
                === (\(size))(document.querySelector('#stage .money .value'))
                """
            #expect(try await page.isTrue(largest))
            // As servers write it for a client that asks for a language without its region: what is read is what is signed.
            try await page.wait(until: "document.querySelector('#stage .money .value').textContent.startsWith('CZK')")
            #expect(try await page.text(of: "#stage .money .value") == "CZK1,999.00")
            try await page.wait(
                until: "\(Self.row)?.querySelector('.what').textContent.startsWith('CZK1,999.00 → CZ55 0800')"
            )
            try await page.click("#stage .controls button.primary")
            try await page.wait(until: "\(Self.row).querySelector('.status').dataset.status === 'APPROVED'")
            try await page.wait(status: "APPROVED", of: "#stage .outcome")
            #expect(await emulator.operations().map(\.status) == [.approved])
            // Three cards lead on: a back end, a callback, a fault.
            try await page.wait(until: "document.querySelectorAll('#guide .next button').length === 3")
            // Green: the accent, as the row and the phone have it.
            let color =
                "getComputedStyle(document.querySelector('#operations-list .status'), '::before').backgroundColor"
            let accent = "getComputedStyle(document.querySelector('#stage .mark')).backgroundColor"
            #expect(try await page.isTrue("\(color) === \(accent)"))
            try await page.click("#guide .next button:nth-child(2)")
            try await page.wait(until: "document.querySelector('#new-callback').open")
            #expect(try await page.evaluate("location.hash") == "#callbacks")
            #expect(try await page.isTrue("document.querySelector('#guide').hidden"))
        }
    }

    @Test func anOperationThatArrivesRingsAndIsDecidedByKeyboard() async throws {
        try await withConsole(width: 1400) { emulator, page async throws in
            _ = try await emulator.makeDevice(userID: "bob", name: "Bob’s phone", rule: .init(.never))
            try await emulator.cloud.createOperation("payment", userID: "bob")
            try await page.wait(until: "document.querySelector('#stage .ringing')")
            try await page.wait(until: "document.querySelector('#stage .owner').textContent === 'Bob’s phone'")
            try await page.evaluate("document.querySelector('#stage .controls button:not(.primary)').focus()")
            try await page.press("Enter")
            try await page.wait(until: "\(Self.row).querySelector('.status').dataset.status === 'REJECTED'")
            #expect(await emulator.operations().map(\.status) == [.rejected])
        }
    }

    @Test func onANarrowPageThePhoneComesUpAndIsPutAway() async throws {
        try await withConsole(width: 390, height: 844) { emulator, page async throws in
            _ = try await emulator.makeDevice(userID: "bob", rule: .init(.never))
            #expect(try await page.isTrue("document.querySelector('#stage').checkVisibility()") == false)
            let operation = try await emulator.cloud.createOperation("payment", userID: "bob")
            try await page.wait(until: "document.querySelector('#stage').checkVisibility()")
            try await page.wait(until: "document.querySelector('#stage .controls')")
            #expect(try await page.evaluate("String(document.documentElement.scrollWidth)") == "390")
            try await page.click("#stage .close")
            #expect(try await page.isTrue("document.querySelector('#stage').checkVisibility()") == false)
            // The same phone is in the opened operation.
            try await page.go(to: "operations/\(operation.id)")
            try await page.wait(until: "document.querySelector('#details .phone .controls')")
            try await page.click("#details .controls button.primary")
            try await page.wait(status: "APPROVED", of: "#details .outcome")
        }
    }

    @Test func onANarrowPageThePhoneGoesWhenItsUserHasDecided() async throws {
        try await withConsole(width: 390, height: 844) { emulator, page async throws in
            _ = try await emulator.makeDevice(userID: "bob", rule: .init(.never))
            try await emulator.cloud.createOperation("payment", userID: "bob")
            try await page.wait(until: "document.querySelector('#stage .controls')?.checkVisibility()")
            try await page.click("#stage .controls button.primary")
            try await page.wait(status: "APPROVED", of: "#stage .outcome")
            // It covers the list, in which one wants to see what has become of the operation.
            try await page.wait(until: "!document.querySelector('#stage').checkVisibility()")
        }
    }

    @Test func theMenuOfANarrowPageHasEachViewBelowTheNameOfItsGroup() async throws {
        try await withConsole(width: 390, height: 844) { _, page async throws in
            try await page.click("#menu")
            let positions = """
                [...document.querySelectorAll('#views h2, #views a')].map((one) => one.getBoundingClientRect().top)
                """
            let isInOrder = "\(positions).every((top, index, all) => index === 0 || top >= all[index - 1])"
            #expect(try await page.isTrue(isInOrder))
        }
    }

    // MARK: Why something was refused

    @Test func theHeadlineOfARefusedSignatureIsItsReason() async throws {
        try await withConsole(width: 1400) { emulator, page async throws in
            _ = try await emulator.makeDevice(userID: "alice", name: "Alice’s phone", rule: .init(.never))
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            try await page.wait(until: "document.querySelector('#stage .controls')")
            try await page.click("#stage [value=wrong]")
            try await page.click("#stage .controls button.primary")
            try await page.wait(for: "The password is wrong", in: "#stage .error")
            #expect(try await page.isTrue("document.querySelector('#stage [value=wrong]').checked"))
            try await page.wait(until: "\(Self.row).textContent.includes('1 of 5 refused')")
            try await page.wait(for: "The password is wrong", in: "#operations-counts .refused")

            // From the foot of the page to the request: the finding comes first and is the largest.
            try await page.wait(
                until: "document.querySelector('#pulse-refused a')?.textContent === 'The password is wrong'"
            )
            try await page.click("#pulse-refused a")
            try await page.wait(until: "document.querySelector('#details .verdict')")
            #expect(
                try await page.evaluate(
                    "document.querySelector('#details-body').firstElementChild.firstElementChild.textContent"
                ) == "The password is wrong."
            )
            let size = "(one) => parseFloat(getComputedStyle(one).fontSize)"
            let largest = """
                Math.max(...[...document.querySelectorAll('#details *')].map(\(size))) \
                === (\(size))(document.querySelector('#details .headline'))
                """
            #expect(try await page.isTrue(largest))
            #expect(
                try await page.evaluate(Self.details).contains(
                    "Alice’s phone tried to approve CZK100.00 → CZ55"
                )
            )

            // In the picture of the operation's way it is a branch.
            try await page.go(to: "operations/\(operation.id)")
            try await page.wait(
                until:
                    "document.querySelector('#details .way .reason')?.textContent === 'Refused: The password is wrong'"
            )
            #expect(try await page.count(of: "#details .way .station") == 5)
            try await page.click("#details .controls button.primary")
            try await page.wait(
                until: """
                    document.querySelector('#details .way')?.getAttribute('aria-label').includes('Signature: \
                    approved')
                    """
            )
            try await page.wait(until: "document.querySelectorAll('#details .way .done').length === 4")
        }
    }

    @Test func pollsAreOneRow() async throws {
        try await withConsole(width: 1400) { emulator, page async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = OperationsService(activation: activation)
            for _ in 1...7 { _ = try await operations.operations() }
            let rows =
                "[...document.querySelectorAll('#journal-list .row')].filter((one) => one.textContent.includes('operation/list'))"
            try await page.wait(
                until:
                    "\(rows).reduce((sum, one) => sum + Number(one.querySelector('.times')?.textContent.slice(3) ?? 1), 0) === 7"
            )
            let all = "[...document.querySelectorAll('#journal-list .row')].map((one) => one.textContent).join('\\n')"
            let shown = try await (count: page.evaluate("String(\(rows).length)"), rows: page.evaluate(all))
            #expect(shown.count == "1", "\(shown.rows)")
            try await page.click("#journal-group")
            try await page.wait(until: "\(rows).length === 7")
        }
    }

    /// News that comes while an answer is awaited is asked for afterwards.
    @Test func requestsThatAreToldMeanwhileAreListedOnce() async throws {
        try await withConsole(width: 1400, except: "status of 404") { emulator, page async throws in
            try await page.evaluate(
                """
                { const send = window.fetch; window.held = []; window.fetch = async (...request) => { \
                const answer = await send(...request); \
                if (!String(request[0]).includes('journal?since')) return answer; \
                const read = new Response(await answer.text()); \
                return new Promise((done) => { window.held.push(() => done(read)); }); }; }
                import('./journal.js').then((one) => { window.journal = one.journal; })
                """
            )
            try await emulator.send("GET", "/nothing")
            try await page.wait(until: "window.held.length === 1")
            try await emulator.send("GET", "/nothing")
            try await page.wait(until: "window.journal.hasNews")
            #expect(try await page.evaluate("String(window.held.length)") == "1")
            try await page.evaluate("window.held[0]()")
            try await page.wait(until: "window.held.length === 2")
            try await page.evaluate("window.held[1]()")
            try await page.wait(until: "document.querySelector('#journal-list .row').ariaSetSize === '2'")
        }
    }

    // MARK: Where one is

    @Test func aSpaceSaysItsName() async throws {
        try await withEmulator { emulator async throws in
            let space = try await emulator.makeSpace(named: "checkout <b>tests</b>")
            try await withBrowser(width: 1280, height: 800) { page async throws in
                try await page.open("\(space.cloudURL)/console/")
                try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
                try await page.wait(
                    until: "document.querySelector('#place').textContent === 'Space checkout <b>tests</b>'"
                )
                #expect(try await page.evaluate("document.title").contains("Operations · checkout <b>tests</b>"))
                try await page.click("#tab-faults")
                #expect(try await page.evaluate("document.title").contains("Faults · checkout <b>tests</b>"))
                try await page.open("\(emulator.cloudURL)/console/")
                try await page.wait(until: "document.querySelector('#connection')?.dataset.state === 'live'")
                #expect(try await page.text(of: "#place") == "127.0.0.1:\(emulator.port)")
                #expect(page.complaints.isEmpty)
            }
        }
    }

    @Test func nothingMovesWhereMotionIsReduced() async throws {
        try await withConsole(width: 1400) { emulator, page async throws in
            try await page.reduceMotion()
            _ = try await emulator.makeDevice(userID: "bob", rule: .init(.never))
            let operation = try await emulator.cloud.createOperation("payment", userID: "bob")
            try await page.wait(until: "document.querySelector('#stage .ringing')")
            #expect(try await page.evaluate("String(document.getAnimations().length)") == "0")
            try await page.go(to: "operations/\(operation.id)")
            try await page.wait(until: "document.querySelector('#details .way')")
            #expect(try await page.evaluate("String(document.getAnimations().length)") == "0")
        }
    }

    // MARK: Callbacks and templates

    @Test func aCallbackIsMadePausedAndResumed() async throws {
        let heard = Shared(0)
        try await withServer({ _ in
            heard.value += 1
            return .json([:])
        }) { bank in
            try await withConsole(view: "callbacks", width: 1280) { emulator, page async throws in
                try await page.press("n")
                try await page.fill("#callback-url", with: "http://127.0.0.1:\(bank.port)/hook")
                try await page.fill("#callback-name", with: "<i>bank</i>")
                try await page.press("Enter")
                try await page.wait(until: "document.querySelector('#callbacks-list b')?.textContent === '<i>bank</i>'")
                let button = "document.querySelector('#callbacks-list [aria-label$=\"<i>bank</i>\"]')"
                try await page.evaluate("\(button).click()")
                try await page.wait(until: "\(button).textContent === 'Resume'")
                try await emulator.cloud.createOperation("login", userID: "alice")
                let delivery = "document.querySelector('#deliveries-list .row')"
                try await page.wait(until: "\(delivery)?.textContent.includes('the callback is paused')")
                #expect(heard.value == 0)
                try await page.evaluate("\(button).click()")
                try await page.wait(until: "\(button).textContent === 'Pause'")
                try await page.click("#deliveries-list .row")
                try await page.wait(until: "document.querySelector('[data-action=\"Send again\"]')")
                try await page.click("[data-action='Send again']")
                try await page.wait(until: "\(delivery).querySelector('.status').dataset.status === 'delivered'")
                #expect(heard.value == 1)
            }
        }
    }

    @Test func aTemplateIsEditedBesideItsPhone() async throws {
        try await withConsole(view: "templates", width: 1280, except: "status of 400") { emulator, page async throws in
            try await page.go(to: "templates/payment")
            let phone = "document.querySelector('#draft-phone').textContent"
            try await page.wait(until: "\(phone).includes('Outgoing Payment')")
            func edit(_ change: String) async throws {
                try await page.evaluate(
                    """
                    { const field = document.querySelector('#draft-text'); field.value = field.value.\(change); \
                    field.dispatchEvent(new Event('input')); }
                    """
                )
            }
            try await edit("replace('Outgoing Payment', 'To be <b>paid</b>')")
            try await page.wait(until: "\(phone).includes('To be <b>paid</b>')")
            // Written out by the server.
            try await page.wait(until: "\(phone).includes('CZK100.00')")
            #expect(try await emulator.send("GET", "/_emulator/templates/payment").text.contains("Outgoing Payment"))
            // The page says that the text is no template, and the phone keeps its screen.
            try await edit("replace('{', '')")
            try await page.wait(until: "document.querySelector('#draft-error').textContent !== ''")
            try await edit("replace(/^/, '{')")
            try await page.wait(until: "document.querySelector('#draft-error').textContent === ''")
            try await page.click("#draft-save")
            try await page.wait(until: "document.querySelector('#toast').textContent.startsWith('Template saved')")
            #expect(try await emulator.send("GET", "/_emulator/templates/payment").text.contains("To be <b>paid</b>"))
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            let shown = await emulator.operations().first { $0.id == operation.id }?.formData
            #expect(shown?["attributes"]?[0]?["label"]?.string == "To be <b>paid</b>")

            // One from nothing.
            try await page.closeDetails()
            try await page.press("n")
            try await page.wait(for: "New template", in: "#details-title")
            try await page.wait(until: "document.querySelector('#draft-phone .money')")
            try await page.wait(until: "!document.querySelector('#draft-save').disabled")
            try await page.click("#draft-save")
            try await page.wait(until: "location.hash === '#templates/my_template'")
            #expect(await emulator.templates().contains { $0.name == "my_template" })
        }
    }

    // MARK: What comes from outside

    /// Everything that can be copied is either the text itself, or a command whose words are whole.
    @Test func whatIsCopiedIsWhole() async throws {
        let hostile = ConsoleBrowserTests.hostile + "'$(touch planted)`touch planted`"
        try await withEmulator { emulator async throws in
            let device = try await emulator.makeDevice(userID: hostile, name: hostile, rule: .init(.never))
            try await emulator.makeCustomOperation(title: hostile, userID: hostile)
            let operation = try #require(await emulator.operations().first)
            try await emulator.decide(operation.id, .wrongPassword, byDevice: device.id)
            let refused = try #require(await emulator.journal().last { $0.code?.isRight == false })
            _ = try await emulator.makeSpace(named: hostile)
            try await withConsole(of: emulator, width: 1400) { page async throws in
                try await page.evaluate(
                    """
                    window.copied = []; navigator.clipboard.writeText = async (text) => { \
                    window.copied.push(text) }, 1
                    """
                )
                for address in [
                    "operations/\(operation.id)", "journal/\(refused.id)", "activations/\(device.id)", "messages",
                    "pushes",
                    "callbacks", "spaces", "connect",
                ] {
                    try await page.go(to: address)
                    if address.contains("/") {
                        try await page.wait(
                            until: "document.querySelector('#details[open]')?.dataset.key === '\(address)'"
                        )
                    }
                    try await page.evaluate("document.querySelectorAll('.copy').forEach((one) => one.click()), 1")
                    // Whatever the view shows of it is text.
                    let elements =
                        "document.querySelectorAll('main img, main script, #details script, #details img').length"
                    #expect(try await page.evaluate("String(\(elements))") == "0", "\(address)")
                }
                #expect(try await page.text(of: "#stage .owner").contains(hostile))
                #expect(try await page.evaluate("String(window.ran)") == "undefined")
                let copied = try await page.evaluate("JSON.stringify([...new Set(window.copied)])")
                let texts = try JSONDecoder().decode([String].self, from: Data(copied.utf8))
                let commands = texts.filter { $0.hasPrefix("curl ") }
                #expect(commands.count > 2 && texts.count > commands.count)
                for command in commands {
                    let folder = try TemporaryFolder()
                    let script =
                        "cd '\(folder.path)'; curl() { :; }; CLOUD_USER=u; CLOUD_PASSWORD=p; " + command
                    let environment = ["PATH": "/usr/bin:/bin"]
                    let shell = try await ChildProcess.run("/bin/sh", ["-euc", script], environment: environment)
                    #expect(shell.exitCode == 0, "\(command)")
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "\(command)")
                }
            }
        }
    }
}
