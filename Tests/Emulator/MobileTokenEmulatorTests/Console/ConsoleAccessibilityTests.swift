import Foundation
import HeadlessBrowser
import MobileTokenTesting
import Testing

/// Tests that axe, which `Scripts/setup --tests` fetches, finds nothing in the page. A continuous integration does not do without.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleAccessibilityTests {
    private static let axe: URL? = {
        let library = URL(filePath: #filePath).appending(path: "../../../../../.build/python/lib").standardized
        let files = FileManager.default
        let versions = (try? files.contentsOfDirectory(at: library, includingPropertiesForKeys: nil)) ?? []
        return versions.map { $0.appending(path: "site-packages/axe_core_python/axe.min.js") }
            .first { FileManager.default.isReadableFile(atPath: $0.path) }
    }()

    private static let findings = """
        document.getAnimations().forEach((one) => one.finish());
        axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
          .map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html.slice(0, 200)).join(', ')}`).join('\\n'))
        """

    @Test(
        .enabled(
            if: Self.axe != nil || ProcessInfo.processInfo.environment["CI"] != nil,
            "needs the packages of Scripts/setup --tests"
        ),
        arguments: [390, 1400]
    )
    func axeFindsNothing(width: Int) async throws {
        let axe = try String(contentsOf: #require(Self.axe), encoding: .utf8)
        try await withEmulator { emulator async throws in
            let sample = try await ConsoleSample(in: emulator)
            try await withConsole(of: emulator, width: width) { page async throws in
                try await page.evaluate(axe + ";1")
                try await sample.tour(page) { what async throws in
                    #expect(try await page.evaluate(Self.findings) == "", "\(what)")
                }
                try await page.evaluate("document.querySelector('#keys').showModal()")
                #expect(try await page.evaluate(Self.findings) == "", "keys")
            }
        }
    }
}
