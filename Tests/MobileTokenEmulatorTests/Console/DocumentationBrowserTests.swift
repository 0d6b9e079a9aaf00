import HeadlessBrowser
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The description of the APIs in a real browser.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct DocumentationBrowserTests {
    @Test(arguments: ["", "/enrollment-server"])
    func everyRouteIsFoundAndTellsWhatItTakes(prefix: String) async throws {
        try await withEmulator { emulator async throws in
            try await withBrowser(width: 1600, height: 900) { page async throws in
                try await page.open(emulator.cloudURL + prefix + "/docs")
                try await page.wait(until: "document.body.dataset.state === 'ready'")
                let count = "String(document.querySelectorAll('details.route:not([hidden])').length)"
                #expect(try await page.evaluate(count) == String(Site.allRoutes.count))

                // By words and by keyboard.
                try await page.press("/")
                try await page.type("post /v2/registrations device")
                #expect(try await page.evaluate(count) == "1")
                try await page.click("#postV2Registrations > summary")
                // The page is told a moment after the click that the route is open.
                try await page.wait(until: "document.querySelector('#postV2Registrations pre') !== null")
                let shown = try await page.evaluate("document.querySelector('#postV2Registrations').textContent")
                for word in ["userId", "commitPhase", "ON_COMMIT | ON_KEY_EXCHANGE", "Registration", "507"] {
                    #expect(shown.contains(word), "\(word)")
                }
                #expect(shown.contains("curl -X POST '\(emulator.cloudURL)/v2/registrations'"))
                try await page.fill("#filter", with: "no such words")
                #expect(try await page.evaluate("String(document.querySelector('#empty').hidden)") == "false")

                // A link to a route opens it.
                try await page.open(emulator.cloudURL + prefix + "/docs#getV2OperationsId")
                try await page.wait(until: "document.querySelector('#getV2OperationsId')?.open")
                #expect(page.complaints.isEmpty)
            }
        }
    }
}
