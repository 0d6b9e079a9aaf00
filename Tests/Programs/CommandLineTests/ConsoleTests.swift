import Foundation
import HeadlessBrowser
import MobileTokenEmulator
import TestSupport
import Testing

/// The whole triangle: a person at the console in a browser, the server, and the program as the client that decides.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleTests {
    private static let row = "document.querySelector('#operations-list .row')"

    @Test func whatIsMadeInTheConsoleIsApprovedRejectedAndExpiresBeforeItsEyes() async throws {
        try await self.withConsole { emulator, home, page in
            let payment = try await self.create("payment", emulator, page)
            let approved = try await Program.runWithPassword("approve", payment, home: home.url)
            #expect(approved.exitCode == 0, "\(approved.errors)")
            try await page.wait(until: "\(Self.row).querySelector('.status').dataset.status === 'APPROVED'")

            let login = try await self.create("login", emulator, page)
            let rejected = try await Program.run("reject", login, "--reason", "POSSIBLE_FRAUD", home: home.url)
            #expect(rejected.exitCode == 0, "\(rejected.errors)")
            try await page.wait(until: "\(Self.row).querySelector('.status').dataset.status === 'REJECTED'")
            try await page.wait(until: "\(Self.row).textContent.includes('Possible fraud')")

            // The slider, by keyboard: a minute a step, and the operation can be decided for five.
            let late = try await self.create("login", emulator, page)
            try await page.click("#clock-button")
            try await page.evaluate("document.querySelector('#shift').focus()")
            for minutes in 1...6 {
                try await page.press("ArrowRight")
                try await page.wait(until: "document.querySelector('#clock-mode').textContent === '+\(minutes) min'")
            }
            try await page.click("#tab-operations")
            try await page.wait(until: "\(Self.row).querySelector('.status').dataset.status === 'EXPIRED'")
            let refused = try await Program.run("approve", late, "--password-stdin", home: home.url, input: "1234\n")
            #expect(refused.exitCode != 0)
            #expect(try await emulator.cloud.operation(late).status == .expired)

            let statuses = try await page.evaluate(
                "[...document.querySelectorAll('#operations-list .status')].map((one) => one.dataset.status).join()"
            )
            #expect(statuses == "EXPIRED,REJECTED,APPROVED")
            #expect(try await page.evaluate("String(window.notReloaded)") == "true")
        }
    }

    @Test func aWrongPasswordIsExplainedInTheJournalAndCountedInTheList() async throws {
        try await self.withConsole { emulator, home, page in
            let payment = try await self.create("payment", emulator, page)
            let refused = try await Program.run("approve", payment, "--password-stdin", home: home.url, input: "9999\n")
            #expect(refused.exitCode == 7)
            let entry = try #require(await emulator.journal().last { $0.path.hasSuffix("/authorize") })
            let reason = try #require(entry.refusal)
            try await page.choose("refused", in: "#journal-verdict")
            try await page.wait(
                until: "document.querySelector('#journal-list .row')?.textContent.includes('The password is wrong')"
            )
            try await page.click("#journal-list .row")
            try await page.wait(until: "document.querySelector('#details').open")
            let details = try await page.evaluate("document.querySelector('#details').textContent")
            #expect(details.contains(reason) && details.contains("alice"))
            try await page.press("Escape")

            try await page.click("#tab-activations")
            try await page.wait(
                until: "document.querySelector('#activations-list .row').textContent.includes('1 of 5')"
            )
        }
    }

    @Test func anOfflineCodeGoesFromThePageToTheClientAndBack() async throws {
        try await self.withConsole { emulator, home, page in
            try await page.click("[data-open=new-operation]")
            try await page.choose("payment", in: "#operation-template")
            try await page.fill("#operation-user", with: "alice")
            try await page.click("#new-operation [value=offline]")
            try await page.wait(until: "document.querySelector('#details img.qr')?.naturalWidth > 0")
            let text = try await page.evaluate("document.querySelector('#details pre').textContent")
            let source = try await page.evaluate("document.querySelector('#details img.qr').src")
            #expect(URLComponents(string: source)?.queryItems?.first?.value == text)

            let scanned = try await Program.runWithPassword("offline", text, "--json", home: home.url)
            #expect(scanned.exitCode == 0, "\(scanned.errors)")
            let code = try #require(scanned.output.firstMatch(of: /\d{8}-\d{8}/)).output

            let operation = try #require(await emulator.operations().first)
            try await page.fill("#details [data-action=code]", with: "00000000-00000000")
            try await page.press("Enter")
            // The form says so itself: the life of the operation may tell before the form takes another code.
            try await page.wait(
                until: "document.querySelector('#details [role=status]')?.textContent.includes('The code is wrong')"
            )
            #expect(try await emulator.cloud.operation(operation.id).status == .pending)
            try await page.fill("#details [data-action=code]", with: String(code))
            try await page.press("Enter")
            try await page.wait(until: "document.querySelector('#details .status').dataset.status === 'APPROVED'")
            #expect(try await emulator.cloud.operation(operation.id).status == .approved)
        }
    }

    // MARK: Steps

    /// Fills in the form; returns the identifier of the operation whose row has appeared.
    private func create(_ template: String, _ emulator: Emulator, _ page: Browser) async throws -> String {
        let count = await emulator.operations().count
        try await page.click("[data-open=new-operation]")
        try await page.choose(template, in: "#operation-template")
        try await page.fill("#operation-user", with: "alice")
        try await page.press("Enter")
        try await page.wait(
            until: """
                document.querySelectorAll('#operations-list .row').length === \(count + 1) \
                && \(Self.row).querySelector('.status').dataset.status === 'PENDING'
                """
        )
        return try #require(await emulator.operations().first).id
    }

    /// A server with an activation of alice's, which the program holds, and its console in a browser.
    private func withConsole(_ body: (Emulator, TemporaryFolder, Browser) async throws -> Void) async throws {
        try await withActivatedProgram { emulator, home in
            try await withBrowser(width: 1600, height: 900) { page async throws in
                try await page.open(emulator.cloudURL + "/console/")
                try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
                try await page.evaluate("window.notReloaded = true")
                try await body(emulator, home, page)
                #expect(page.complaints.isEmpty)
            }
        }
    }
}
