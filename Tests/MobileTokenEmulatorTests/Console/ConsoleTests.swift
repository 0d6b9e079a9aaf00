import Foundation
import Testing

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(2))) struct ConsoleTests {
    @Test func everythingIsServedFromTheProgram() async throws {
        try await withRunningEmulator { emulator async throws in
            for prefix in ["", "/enrollment-server"] {
                let page = try await emulator.send("GET", prefix + "/console/")
                #expect(page.status == 200)
                #expect(page.headers["content-type"] == "text/html; charset=utf-8")
                for name in ["console.css", "console.js", "icon.svg"] {
                    #expect(page.text.contains(#""\#(name)""#))
                    let file = try await emulator.send("GET", "\(prefix)/console/\(name)")
                    #expect(file.status == 200)
                    #expect(!file.body.isEmpty)
                    // The one address in it is the name of the picture format, which nobody fetches.
                    let text = file.text.replacing("http://www.w3.org/2000/svg", with: "")
                    #expect(!text.contains("http://") && !text.contains("https://"))
                }
                #expect(!page.text.contains("http://") && !page.text.contains("https://"))
            }
        }
    }

    @Test func thePolicyForbidsEverythingInline() async throws {
        try await withRunningEmulator { emulator async throws in
            let page = try await emulator.send("GET", "/console/")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.text.firstMatch(of: /<script[^>]*>[^<]|\son\w+=|style=|javascript:/) == nil)
        }
    }

    @Test func otherNamesAndMethodsAreRefused() async throws {
        try await withRunningEmulator { emulator async throws in
            #expect(try await emulator.send("GET", "/console/nothing").status == 404)
            #expect(try await emulator.send("GET", "/console/../console.js").status == 404)
            #expect(try await emulator.send("POST", "/console/").status == 405)
            let bare = try await emulator.send("GET", "/console")
            #expect(bare.status == 308)
            #expect(bare.headers["location"] == "console/")
            #expect(try await emulator.send("HEAD", "/console/").status == 200)
        }
    }

    // MARK: QR codes

    @Test func aQRCodeHasItsFindersAndItsQuietZone() throws {
        let code = try #require(QRCode("W65WE-3T7VI-7FBS2-A4OYA"))
        #expect((code.width - 17).isMultiple(of: 4))
        let finder = [0b1111111, 0b1000001, 0b1011101, 0b1011101, 0b1011101, 0b1000001, 0b1111111]
        for (rows, columns) in [(0, 0), (0, code.width - 7), (code.width - 7, 0)] {
            for row in 0..<7 {
                let bits = (0..<7).reduce(0) {
                    $0 << 1 | (code.modules[(rows + row) * code.width + columns + $1] ? 1 : 0)
                }
                #expect(bits == finder[row])
            }
        }
        #expect(code.svg.hasPrefix("<svg xmlns"))
        #expect(code.svg.contains(#"viewBox="0 0 \#(code.width + 8) \#(code.width + 8)""#))
        #expect(code.svg.contains("M4 4h7v1h-7z"))
    }

    @Test func whatFitsNoQRCodeIsRefused() async throws {
        #expect(QRCode("") == nil)
        #expect(QRCode(String(repeating: "x", count: 3000)) == nil)
        #expect(QRCode(String(repeating: "ř", count: 1000)) != nil)
        try await withRunningEmulator { emulator async throws in
            #expect(try await emulator.send("GET", "/_emulator/qr").status == 400)
            let picture = try await emulator.send("GET", "/_emulator/qr?text=a%2Bb")
            #expect(picture.headers["content-type"] == "image/svg+xml")
            #expect(picture.text == QRCode("a+b")?.svg)
        }
    }

    // MARK: In a browser

    @Test(.enabled(if: Browser.executable != nil, "needs Chromium"))
    func anOperationIsMadeInThePageAndItsRowFollowsTheServer() async throws {
        try await withRunningEmulator { emulator async throws in
            let browser = try await Browser()
            try await browser.resize(width: 1600, height: 900)
            try await browser.open(emulator.cloudURL + "/console/")
            try await browser.wait(until: "document.querySelector('#connection').dataset.state === 'live'")

            // By keyboard alone: the button, the dialog's fields, the button that creates.
            try await browser.evaluate("document.querySelector('[data-open=new-operation]').focus()")
            try await browser.press("Enter")
            try await browser.wait(until: "document.querySelector('#new-operation').open")
            try await browser.evaluate("document.querySelector('#operation-template').value = 'login'")
            try await browser.evaluate("document.querySelector('#operation-user').focus()")
            try await browser.type("<img src=x onerror=alert(1)>")
            try await browser.press("Enter")
            try await browser.wait(until: "document.querySelectorAll('#operations-list .row').length === 1")
            let row = "document.querySelector('#operations-list .row')"
            #expect(try await browser.evaluate("\(row).querySelector('.pill').textContent") == "PENDING")
            #expect(
                try await browser.evaluate("\(row).querySelector('.sub').textContent") == "<img src=x onerror=alert(1)>"
            )
            let operation = try #require(await emulator.operations().first)
            #expect(operation.userID == "<img src=x onerror=alert(1)>")

            // Somebody else cancels it; nothing is reloaded.
            try await browser.evaluate("window.notReloaded = true")
            let credentials = Data("\(emulator.cloudUser):\(emulator.cloudPassword)".utf8).base64EncodedString()
            try await emulator.send(
                "DELETE",
                "/v2/operations/\(operation.id)",
                headers: ["Authorization: Basic \(credentials)"]
            )
            try await browser.wait(until: "\(row).querySelector('.pill').textContent === 'CANCELED'")
            #expect(try await browser.evaluate("String(window.notReloaded)") == "true")

            // A row is opened with the keyboard, and the journal beside shows the requests.
            try await browser.evaluate("document.querySelector('#operations-list').focus()")
            try await browser.press("ArrowDown")
            try await browser.press("Enter")
            try await browser.wait(until: "document.querySelector('#details').open")
            #expect(try await browser.evaluate("document.querySelector('#details').textContent").contains(operation.id))
            try await browser.press("Escape")
            try await browser.wait(until: "!document.querySelector('#details').open")
            try await browser.wait(
                until: "document.querySelector('#journal-list').textContent.includes('DELETE /v2/operations/')"
            )
            #expect(browser.complaints.isEmpty)
        }
    }

    @Test(.enabled(if: Browser.executable != nil, "needs Chromium"))
    func faultsAndTheClockAreSwitchedInThePage() async throws {
        try await withRunningEmulator { emulator async throws in
            let browser = try await Browser()
            try await browser.resize(width: 360, height: 740, dark: true)
            try await browser.open(emulator.cloudURL + "/console/#faults")
            try await browser.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
            try await browser.evaluate("document.querySelector('#fault-switches').children[1].click()")
            try await browser.wait(until: "document.querySelector('[role=switch][aria-checked=true]')")
            #expect(try await emulator.send("GET", "/anything").status == 503)
            await emulator.faults.removeAll()
            try await browser.wait(until: "!document.querySelector('[role=switch][aria-checked=true]')")

            try await browser.evaluate("document.querySelector('#clock-stand').click()")
            try await browser.wait(until: "document.querySelector('#clock-mode').textContent === 'standing'")
            let standing = await emulator.clock.now
            try await browser.evaluate("document.querySelector('[data-advance=\"3600\"]').click()")
            try await browser.wait(until: "document.querySelector('#shift').value === '60'")
            #expect(await emulator.clock.now == standing.addingTimeInterval(3600))

            // A phone's width holds everything.
            for view in ["operations", "activations", "journal", "faults", "clock", "connect"] {
                try await browser.evaluate("document.querySelector('#tab-\(view)').click()")
                #expect(try await browser.evaluate("document.documentElement.scrollWidth") == "360", "\(view)")
            }
            #expect(browser.complaints.isEmpty)
        }
    }

    @Test(.enabled(if: Browser.executable != nil, "needs Chromium"))
    func thousandsOfRowsAreAFewElements() async throws {
        try await withRunningEmulator { emulator async throws in
            for number in 1...3000 {
                _ = await emulator.core.relay(
                    ReceivedRequest(
                        method: "POST",
                        path: "/v2/operations",
                        headers: [("Content-Type", "application/json")],
                        body: Array(#"{"userId":"user\#(number)","template":"login"}"#.utf8)
                    )
                )
            }
            let browser = try await Browser()
            try await browser.resize(width: 1600, height: 900)
            try await browser.open(emulator.cloudURL + "/console/")
            try await browser.wait(until: "document.querySelector('#tab-operations .count').textContent === '3000'")
            try await browser.wait(
                until: "document.querySelector('#operations-list .row .sub')?.textContent === 'user3000'"
            )
            #expect(try await Int(browser.evaluate("document.querySelectorAll('.row').length")) ?? .max < 100)
            try await browser.evaluate("document.querySelector('#operations-list').focus()")
            try await browser.press("End")
            try await browser.wait(
                until:
                    "[...document.querySelectorAll('#operations-list .sub')].some((cell) => cell.textContent === 'user1')"
            )
            #expect(try await Int(browser.evaluate("document.querySelectorAll('.row').length")) ?? .max < 100)
            #expect(browser.complaints.isEmpty)
        }
    }

    /// Set `CONSOLE_SCREENSHOTS` to a folder to look at the page.
    @Test(.enabled(if: Browser.executable != nil && ProcessInfo.processInfo.environment["CONSOLE_SCREENSHOTS"] != nil))
    func screenshots() async throws {
        let folder = URL(fileURLWithPath: ProcessInfo.processInfo.environment["CONSOLE_SCREENSHOTS"] ?? "/tmp")
        try await withRunningEmulator { emulator async throws in
            for user in ["alice", "bob", "carol with a rather long name indeed"] {
                try await emulator.register(user: user)
            }
            let templates = await emulator.templates().map(\.name)
            for number in 1...40 {
                let body = #"{"userId":"user\#(number % 7)","template":"\#(templates[number % templates.count])"}"#
                _ = await emulator.core.relay(
                    ReceivedRequest(
                        method: "POST",
                        path: "/v2/operations",
                        headers: [("Content-Type", "application/json")],
                        body: Array(body.utf8)
                    )
                )
            }
            for operation in await emulator.operations().prefix(30)
            where operation.id.utf8.first.map({ $0 % 3 == 0 }) == true {
                _ = await emulator.core.relay(
                    ReceivedRequest(method: "DELETE", path: "/v2/operations/\(operation.id)", rawQuery: "", query: [])
                )
            }
            try await emulator.send("POST", "/pa/v3/activation/create", body: "{}")
            try await emulator.send("POST", "/api/auth/token/app/operation/list", body: "{}")
            await emulator.faults.add(
                FaultRule(name: "Broken: 500", match: .init(path: "/api/**"), effect: .init(status: 500))
            )
            try await emulator.send("POST", "/api/auth/token/app/operation/list", body: "{}")
            let browser = try await Browser()
            for (width, height) in [(360, 740), (1600, 900)] {
                for dark in [false, true] {
                    try await browser.resize(width: width, height: height, dark: dark)
                    for view in [
                        "operations", "activations", "journal", "faults", "clock", "connect", "details", "new",
                    ] {
                        if width == 1600, view == "journal" { continue }
                        let tab = ["details": "activations", "new": "operations"][view] ?? view
                        try await browser.open("about:blank")
                        try await browser.open("\(emulator.cloudURL)/console/#\(tab)")
                        try await browser.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
                        if view == "details" {
                            try await browser.wait(until: "document.querySelector('#activations-list .row')")
                            try await browser.evaluate("document.querySelector('#activations-list .row').click()")
                            try await browser.wait(until: "document.querySelector('#details img').complete")
                        }
                        if view == "new" {
                            try await browser.evaluate("document.querySelector('[data-open=new-operation]').click()")
                        }
                        try await browser.evaluate(
                            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
                        )
                        let name = "\(width)-\(dark ? "dark" : "light")-\(view).png"
                        try await browser.screenshot().write(to: folder.appendingPathComponent(name))
                    }
                }
            }
            #expect(browser.complaints.isEmpty)
        }
    }
}
