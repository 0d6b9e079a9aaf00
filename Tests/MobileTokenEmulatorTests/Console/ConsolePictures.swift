import Foundation
import HeadlessBrowser
import MobileToken
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

private let pictures = ProcessInfo.processInfo.environment["CONSOLE_SCREENSHOTS"].map { URL(filePath: $0) }

/// Pictures of every view, to be looked at: set `CONSOLE_SCREENSHOTS` to a folder.
@Suite(.enabled(if: Browser.executable != nil && pictures != nil, "makes pictures on demand"))
struct ConsolePictures {
    @Test(arguments: [(360, 740), (1024, 768), (1600, 900)], [false, true])
    func everyView(size: (width: Int, height: Int), dark: Bool) async throws {
        let folder = try #require(pictures)
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", name: "Alice’s phone")
            try await PushService(activation: activation).register(token: "push-token", for: .apns)
            let sample = try await ConsoleSample(in: emulator)
            try await withBrowser(width: size.width, height: size.height, dark: dark) { page async throws in
                try await page.open("\(emulator.cloudURL)/console/")
                try await page.wait(until: "document.querySelector('#connection').dataset.state === 'live'")
                func picture(_ name: String) async throws {
                    try await page.evaluate("new Promise((done) => setTimeout(done, 300))")  // movements have ended
                    let name = "\(size.width)-\(dark ? "dark" : "light")-\(name).png"
                    try await page.screenshot().write(to: folder.appending(path: name))
                }
                for view in ConsoleSample.views {
                    try await page.click("#tab-\(view)")
                    try await picture(view)
                    guard try await page.evaluate("Boolean(document.querySelector('#\(view)-list .row'))") != "0" else {
                        continue
                    }
                    try await page.click("#\(view)-list .row")
                    try await picture("\(view)-details")
                    try await page.press("Escape")
                }
                for address in sample.stories {
                    try await page.evaluate("location.hash = '\(address)', 1")
                    try await page.wait(until: "document.querySelector('#details').open")
                    // All of it, however long.
                    for part in 0...2 {
                        try await page.evaluate(
                            "document.querySelector('#details-body').scrollTop = \(part) * (innerHeight - 150), 1"
                        )
                        try await picture("\(address.replacing("/", with: "-"))-\(part)")
                    }
                    try await page.press("Escape")
                }
                try await page.click("#tab-operations")
                try await page.click("[data-open=new-operation]")
                try await picture("new-operation")
                #expect(page.complaints.isEmpty)
            }
        }
    }
}
