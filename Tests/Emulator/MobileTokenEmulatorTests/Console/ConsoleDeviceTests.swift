import HeadlessBrowser
import MobileTokenTesting
import Testing

/// Virtual devices and spaces in the console, in a real browser.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleDeviceTests {
    private static let details = "document.querySelector('#details').textContent"

    private func click(_ label: String, _ page: Browser) async throws {
        let isWanted = "(one) => (one.ariaLabel ?? one.textContent) === \(Browser.quoted(label))"
        let button = "[...document.querySelectorAll('#details button')].find(\(isWanted))"
        try await page.wait(until: button)
        try await page.evaluate("\(button).click()")
    }

    @Test func aPersonDecidesWithADeviceThatWasMadeHere() async throws {
        try await withConsole(view: "activations") { emulator, page async throws in
            try await page.evaluate("document.querySelector('[data-open=new-activation]').click()")
            try await page.fill("#activation-user", with: "alice")
            #expect(try await page.isTrue("document.querySelector('#virtual-fields').hidden"))
            try await page.evaluate("document.querySelector('#activation-virtual').click()")
            #expect(try await page.isTrue("document.querySelector('#registration-fields').hidden"))
            try await page.choose("4.0", in: "#virtual-version")
            try await page.fill("#virtual-name", with: "Alice’s")
            try await page.evaluate("document.querySelector('#new-activation [type=submit]').click()")
            try await page.wait(until: "\(Self.details).includes('waits for a person')")
            let device = try #require(await emulator.devices().first)
            #expect(device.name == "Alice’s" && device.version == "4.0" && device.status == .active)

            for (label, status) in [("Approve as Alice’s", "APPROVED"), ("Reject as Alice’s", "REJECTED")] {
                let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
                try await page.go(to: "operations/\(operation.id)")
                try await page.wait(until: "\(Self.details).includes('\(operation.id)')")
                try await self.click(label, page)
                try await page.wait(status: status, of: "#details-title .status")
                #expect(try await emulator.cloud.operation(operation.id).status.rawValue == status)
                try await page.wait(until: "!document.querySelector('#details .controls')")
            }
            // The actions of a device are shown with it.
            try await page.go(to: "activations/\(device.id)")
            try await page.wait(until: "document.querySelectorAll('#details .moments li').length === 2")
        }
    }

    @Test func aDeviceGetsAnotherRule() async throws {
        try await withConsole { emulator, page async throws in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            try await page.go(to: "activations/\(device.id)")
            try await page.wait(until: "\(Self.details).includes('waits for a person')")
            try await page.choose("reject", in: "#details [data-action=decision]")
            try await self.click("Set the rule", page)
            try await page.wait(until: "\(Self.details).includes('rejects, with the reason UNKNOWN')")
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            try await page.wait(until: "document.querySelectorAll('#details .moments li').length === 1")
            try await page.wait(for: "done", in: "#details .moments li")
            #expect(try await emulator.cloud.operation(operation.id).status == .rejected)
        }
    }

    @Test func spacesAreMadeOpenedAndRemoved() async throws {
        try await withConsole(view: "spaces") { emulator, page async throws in
            let list = "document.querySelector('#spaces-list')"
            #expect(try await page.evaluate("\(list).children.length.toString()") == "0")
            try await page.fill("#space-name", with: "<b>mine</b>")
            try await page.evaluate("document.querySelector('#new-space button').click()")
            try await page.wait(until: "\(list).children.length === 1")
            #expect(try await page.evaluate("\(list).querySelector('a').textContent") == "<b>mine</b>")
            let address = try await page.evaluate("\(list).querySelector('a').href")
            #expect(address == "\(emulator.cloudURL)/spaces/\(try #require(emulator.spaces().first).id)/console/")
            // The first click asks, the second removes.
            for _ in 0..<2 { try await page.evaluate("\(list).querySelector('button').click()") }
            try await page.wait(until: "\(list).children.length === 0")
            #expect(emulator.spaces().isEmpty)

            // A space has a console like this one, which marks itself among its neighbors.
            let space = try await emulator.makeSpace()
            try await page.open("\(space.cloudURL)/console/#spaces")
            try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
            let id = try #require(emulator.spaces().first).id
            #expect(try await page.text(of: "#spaces-list b") == id)
        }
    }
}
