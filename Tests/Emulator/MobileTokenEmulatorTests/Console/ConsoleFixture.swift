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
