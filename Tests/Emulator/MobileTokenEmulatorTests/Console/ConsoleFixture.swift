import EmulatorMessages
import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

extension Emulator {
    func makeCustomOperation(title: String, userID: String) async throws {
        let body: [String: Any] = [
            "userId": userID, "operationType": "custom", "data": "A1",
            "formData": ["title": title, "message": title, "attributes": []],
        ]
        let response = await self.core.respond(
            to: ReceivedRequest(
                method: "POST",
                path: "/v2/operations",
                headers: [("Content-Type", "application/json")],
                body: Array(try JSONSerialization.data(withJSONObject: body))
            ),
            from: .process
        )
        #expect(response.status == 200)
    }
}

/// Runs `body` with the console of an emulator in a browser; the page must not complain.
///
/// - Parameter complaint: A part of the complaints that belong to the test.
func withConsole(
    view: String = "operations",
    width: Int = 1600,
    height: Int = 900,
    dark: Bool = false,
    except complaint: String? = nil,
    _ body: (Emulator, Browser) async throws -> Void
) async throws {
    try await withEmulator { emulator async throws in
        try await withConsole(of: emulator, view: view, width: width, height: height, dark: dark, except: complaint) {
            try await body(emulator, $0)
        }
    }
}

func withConsole(
    of emulator: Emulator,
    view: String = "operations",
    width: Int = 1600,
    height: Int = 900,
    dark: Bool = false,
    except complaint: String? = nil,
    _ body: (Browser) async throws -> Void
) async throws {
    try await withBrowser(width: width, height: height, dark: dark) { page async throws in
        try await page.open("\(emulator.cloudURL)/console/#\(view)")
        try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
        try await body(page)
        let complaints = page.complaints.filter { heard in complaint.map { heard.contains($0) } != true }
        #expect(complaints == [])
    }
}

extension Browser {
    func text(of selector: String) async throws -> String {
        try await self.evaluate("document.querySelector(\(Self.quoted(selector))).textContent")
    }

    func count(of selector: String) async throws -> Int {
        Int(try await self.evaluate("String(document.querySelectorAll(\(Self.quoted(selector))).length)")) ?? -1
    }

    func isTrue(_ expression: String) async throws -> Bool {
        try await self.evaluate("String(\(expression))") == "true"
    }

    /// Waits until a text is in the first element that a selector finds.
    func wait(for text: String, in selector: String) async throws {
        let found = "document.querySelector(\(Self.quoted(selector)))"
        try await self.wait(until: "\(found)?.textContent.includes(\(Self.quoted(text)))")
    }

    func wait(status: String, of selector: String) async throws {
        let found = "document.querySelector(\(Self.quoted(selector)))"
        try await self.wait(until: "\(found)?.dataset.status === \(Self.quoted(status))")
    }

    /// Shows what the console has under an address, such as `journal/1`.
    func go(to address: String) async throws { try await self.evaluate("location.hash = \(Self.quoted(address)), 1") }

    /// Clicks the one whose text it is, among those that a selector finds.
    func click(_ selector: String, named text: String) async throws {
        let all = "[...document.querySelectorAll(\(Self.quoted(selector)))]"
        try await self.evaluate("\(all).find((one) => one.textContent === \(Self.quoted(text))).click()")
    }

    /// Opens the details of what is clicked.
    func openDetails(_ selector: String) async throws {
        try await self.click(selector)
        try await self.wait(until: "document.querySelector('#details').open")
    }

    func closeDetails() async throws {
        try await self.press("Escape")
        try await self.wait(until: "!document.querySelector('#details').open")
    }
}
