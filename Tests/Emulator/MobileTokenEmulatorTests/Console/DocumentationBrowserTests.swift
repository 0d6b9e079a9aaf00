import APIDescriptions
import HeadlessBrowser
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The description of the APIs in a real browser.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct DocumentationBrowserTests {
    @Test(arguments: ["", "/enrollment-server"])
    func everyRouteIsFoundAndTellsWhatItTakes(prefix: String) async throws {
        try await withEmulator { emulator async throws in
            try await withBrowser(width: 1600, height: 900) { page async throws in
                try await page.open(emulator.cloudURL + prefix + "/docs")
                try await page.wait(until: "document.body.dataset.state === 'ready'")
                let count = "String(document.querySelectorAll('details.route:not(.shape):not([hidden])').length)"
                #expect(try await page.evaluate(count) == String(ControlAPI.allRoutes.count))

                // By words and by keyboard.
                try await page.press("/")
                try await page.type("post /v2/registrations device")
                #expect(try await page.evaluate(count) == "1")
                try await page.click("#createRegistration > summary")
                // The page is told a moment after the click that the route is open.
                try await page.wait(until: "document.querySelector('#createRegistration pre') !== null")
                let shown = try await page.text(of: "#createRegistration")
                for word in ["userId", "commitPhase", "ON_COMMIT | ON_KEY_EXCHANGE", "Registration", "507"] {
                    #expect(shown.contains(word), "\(word)")
                }
                #expect(shown.contains("curl -X POST '\(emulator.cloudURL)/v2/registrations'"))
                try await page.fill("#filter", with: "no such words")
                #expect(try await page.isTrue("document.querySelector('#empty').hidden") == false)

                // A link to a route opens it.
                try await page.open(emulator.cloudURL + prefix + "/docs#getOperation")
                try await page.wait(until: "document.querySelector('#getOperation')?.open")
                #expect(page.complaints.isEmpty)
            }
        }
    }

    @Test func onANarrowPageTheAreasStandBesideEachOther() async throws {
        try await withEmulator { emulator async throws in
            try await withBrowser(width: 390, height: 844) { page async throws in
                try await page.open(emulator.cloudURL + "/docs")
                try await page.wait(until: "document.body.dataset.state === 'ready'")
                let boxes = "[...document.querySelectorAll('#views a')].map((one) => one.getBoundingClientRect())"
                let areApart = "\(boxes).every((one, index, all) => index === 0 || one.left >= all[index - 1].right)"
                #expect(try await page.isTrue(areApart))
                #expect(try await page.evaluate("String(document.documentElement.scrollWidth)") == "390")
            }
        }
    }

    /// A person without scripts, or a program, reads all of it; nothing in it is markup that was data.
    @Test func itIsReadWithoutScripts() async throws {
        try await withEmulator { emulator async throws in
            let page = try await emulator.send("GET", "/docs").text
            for route in ControlAPI.allRoutes {
                #expect(page.contains("data-method=\"\(route.method)\" data-path=\"\(route.path)\""), "\(route.path)")
            }
            for text in [
                "id=\"createOperation\"", "href=\"#createOperation\"",
                "curl -X POST &#39;\(emulator.cloudURL)/v2/operations&#39;",
                "<a href=\"#shape-VirtualDevice\">VirtualDevice</a>", "id=\"shape-VirtualDevice\"",
            ] { #expect(page.contains(text), "\(text)") }
            #expect(!page.contains("<!--"))
        }
    }

    @Test func aCallIsTriedWithTheServersOwnCredentials() async throws {
        try await withEmulator { emulator async throws in
            try await withBrowser(width: 1400, height: 900) { page async throws in
                try await page.open(emulator.cloudURL + "/docs#createOperation")
                let route = "document.querySelector('#createOperation')"
                try await page.wait(until: "\(route).querySelector('.try')")
                let body = #"{"template": "payment", "userId": "alice"}"#
                try await page.evaluate("\(route).querySelector('textarea').value = \(Browser.quoted(body)), 1")
                try await page.evaluate("\(route).querySelector('.try button').click()")
                try await page.wait(until: "\(route).querySelector('.try pre')?.textContent.includes('PENDING')")
                #expect(await emulator.operations().map(\.userID) == ["alice"])
                // The names in braces are asked for; a refusal is shown as it comes.
                try await page.go(to: "cancelOperation")
                let other = "document.querySelector('#cancelOperation')"
                try await page.wait(until: "\(other).querySelector('.try [name=id]')")
                try await page.evaluate("\(other).querySelector('[name=id]').value = '../x', 1")
                try await page.evaluate("\(other).querySelector('.try button').click()")
                try await page.wait(until: "\(other).querySelector('.try .bad')?.textContent.startsWith('400')")
                // Without a relay, the page asks for the credentials, and the journal shows none of them.
                try await page.go(to: "createUserAsAdministrator")
                let third = "document.querySelector('#createUserAsAdministrator')"
                try await page.wait(until: "\(third).querySelector('.try [name=credentials]')")
                let credentials = "\(emulator.cloudUser):\(emulator.cloudPassword)"
                try await page.evaluate(
                    "\(third).querySelector('[name=credentials]').value = \(Browser.quoted(credentials)), 1"
                )
                try await page.evaluate("\(third).querySelector('.try button').click()")
                try await page.wait(until: "\(third).querySelector('.try p:not(.bad)')?.textContent.startsWith('20')")
                #expect(page.complaints.allSatisfy { $0.contains("status of 400") })
            }
        }
    }
}
