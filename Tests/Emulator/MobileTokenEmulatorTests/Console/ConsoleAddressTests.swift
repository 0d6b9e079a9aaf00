import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

/// The console's addresses: a link for everything that it shows, in a real browser.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleAddressTests {
    private static let rows = "[...document.querySelectorAll('#operations-list .row')]"
    private static let open = "document.querySelector('#details').open"

    @Test func aReloadShowsTheSame() async throws {
        try await withEmulator { emulator async throws in
            let wanted = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.cloud.createOperation("login", userID: "bob")
            try await withConsole(of: emulator) { page async throws in
                try await page.wait(until: "\(Self.rows).length === 2")
                try await page.fill("#operations-filter", with: "alice & co")
                try await page.wait(until: "\(Self.rows).length === 0")
                try await page.fill("#operations-filter", with: "alice")
                try await page.wait(until: "\(Self.rows).length === 1")
                try await page.choose("PENDING", in: "#operations-status")
                try await page.choose("refused", in: "#journal-verdict")
                try await page.openDetails("#operations-list .row")
                let address = try await page.evaluate("location.href")
                #expect(address.hasPrefix("\(emulator.cloudURL)/console/#operations/\(wanted.id)?"))

                // In another page, too: the address is a link.
                for _ in 1...2 {
                    try await page.open("about:blank")
                    try await page.wait(until: "location.href === 'about:blank'")
                    try await page.open(address)
                    try await page.wait(until: Self.open)
                    #expect(try await page.text(of: "#details").contains(wanted.id))
                    #expect(try await page.evaluate("document.querySelector('#operations-filter').value") == "alice")
                    #expect(try await page.evaluate("document.querySelector('#operations-status').value") == "PENDING")
                    #expect(try await page.evaluate("document.querySelector('#journal-verdict').value") == "refused")
                    try await page.wait(until: "\(Self.rows).length === 1")
                    #expect(try await page.evaluate("location.href") == address)
                }
            }
        }
    }

    @Test func theKeysForBackAndForwardWork() async throws {
        try await withEmulator { emulator async throws in
            let first = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.cloud.register(userID: "bob")
            try await withConsole(of: emulator) { page async throws in
                let tab = { (name: String) in
                    "document.querySelector('#tab-\(name)').hasAttribute('aria-current')"
                }
                try await page.wait(until: "\(Self.rows).length === 1")
                try await page.openDetails("#operations-list .row")
                try await page.closeDetails()
                try await page.click("#tab-activations")
                try await page.wait(until: "document.querySelector('#activations-list .row')")
                try await page.openDetails("#activations-list .row")

                try await page.evaluate("history.back()")
                try await page.wait(until: "!\(Self.open) && \(tab("activations"))")
                try await page.evaluate("history.back()")
                try await page.wait(until: "!\(Self.open) && \(tab("operations"))")
                try await page.evaluate("history.back()")
                try await page.wait(until: "\(Self.open) && location.hash === '#operations/\(first.id)'")
                #expect(try await page.text(of: "#details").contains(first.id))
                try await page.evaluate("history.back()")
                try await page.wait(until: "!\(Self.open) && location.hash === '#operations'")
                try await page.evaluate("history.go(4)")
                try await page.wait(until: "\(Self.open) && \(tab("activations"))")
            }
        }
    }

    /// The browser tells of a closed dialog late: what is chosen before must not open it again.
    @Test func whatIsClosedStaysClosedInTheNextView() async throws {
        try await withEmulator { emulator async throws in
            let first = try await emulator.cloud.createOperation("login", userID: "alice")
            try await withConsole(of: emulator) { page async throws in
                try await page.wait(until: "\(Self.rows).length === 1")
                try await page.openDetails("#operations-list .row")
                let entries = Int(try await page.evaluate("history.length")) ?? 0
                let chooseNext = "Promise.resolve().then(() => document.querySelector('#tab-activations').click())"
                try await page.evaluate("document.querySelector('#details').close(); \(chooseNext)")
                #expect(try await page.evaluate("location.hash") == "#activations")
                #expect(try await page.evaluate("history.length") == "\(entries + 2)")
                try await page.evaluate("history.back()")
                try await page.wait(until: "!\(Self.open) && location.hash === '#operations'")
                try await page.evaluate("history.back()")
                try await page.wait(until: "\(Self.open) && location.hash === '#operations/\(first.id)'")
            }
        }
    }

    /// Loads the page at an address, as from a bookmark.
    private func load(_ fragment: String, of emulator: Emulator, in page: Browser) async throws {
        try await page.open("about:blank")
        try await page.open("\(emulator.cloudURL)/console/#\(fragment)")
        try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
    }

    @Test func everyViewHasAnAddress() async throws {
        try await withConsole(width: 1000) { emulator, page async throws in
            for view in ConsoleSample.views where view != "operations" {
                try await self.load(view, of: emulator, in: page)
                #expect(try await page.isTrue("document.querySelector('#\(view)').hidden") == false)
                #expect(try await page.isTrue("document.querySelector('#operations').hidden"))
                #expect(try await page.evaluate("document.title").isEmpty == false)
            }
        }
    }

    @Test func anAddressOfNothingSaysSo() async throws {
        let isOpen = Self.open
        try await withConsole(except: "status of 404") { emulator, page async throws in
            for fragment in ["nothing", "operations?open="] {
                try await self.load(fragment, of: emulator, in: page)
                try await page.wait(until: "!\(isOpen)")
            }
            let fragments = [
                "operations/nothing", "operations?open=nothing/1", "operations/%", "journal/9999", "templates/x",
                "deliveries/1", "pushes/-1", "?open=operations/%3Cb%3E",
            ]
            for fragment in fragments {
                try await self.load(fragment, of: emulator, in: page)
                try await page.wait(until: isOpen)
                #expect(try await page.text(of: "#details-title").hasPrefix("Not there"), "\(fragment)")
                try await page.closeDetails()
                #expect(try await page.evaluate("document.querySelector('#connection').dataset.state") == "live")
            }
        }
    }

    /// One who opens it from a context path, or from a space of the server, asks for nothing beside it.
    @Test func everyAddressIsRelativeToThePage() async throws {
        try await withEmulator { emulator async throws in
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await withBrowser(width: 1600, height: 900) { page async throws in
                let base = "\(emulator.cloudURL)/enrollment-server"
                try await page.open("\(base)/console/#operations/\(made.id)")
                try await page.wait(until: Self.open)
                try await page.click("#details .moments a")
                try await page.wait(for: "POST /v2", in: "#details-title")
                #expect(page.requests.allSatisfy { $0.hasPrefix(base + "/") || $0 == "about:blank" })
                #expect(page.complaints.isEmpty)
            }
        }
    }
}
