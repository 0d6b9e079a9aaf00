import Foundation
import HeadlessBrowser
import MobileToken

/// The waits of a person at the console, in a real browser.
let consoleBenchmarks: [Benchmark] = [
    Benchmark("console.operations", "2000 operations shown by the console, and what happens then, in Chromium") {
        settings in
        guard Browser.executable != nil else { throw ConsoleFailure(description: "Chromium is not installed") }
        let count = 2_000
        let emulator = try EmulatorProcess()
        do {
            try await inParallel(16) { lane in
                for number in stride(from: lane, to: count, by: 16) {
                    _ = try await emulator.control("operations", ["template": "payment", "userId": "user-\(number)"])
                }
            }
            let rows = try await withBrowser(width: 1400, height: 900) { page in
                let shown = try await timesToShow(count, settings.rounds(quick: 3, thorough: 9), page, emulator)
                let seen = try await timesToDraw(settings.rounds(quick: 5, thorough: 21), page)
                guard page.complaints.isEmpty else {
                    throw ConsoleFailure(description: page.complaints.joined(separator: "\n"))
                }
                return [
                    Row(
                        name: "console.operations",
                        detail: "from the address to 2000 operations",
                        unit: .milliseconds,
                        figure: Figure(samples: shown),
                        goals: [.atMost(1_000)],
                        size: count
                    ),
                    Row(
                        name: "console.operations",
                        detail: "from an event to its pixels",
                        unit: .milliseconds,
                        figure: Figure(samples: seen),
                        goals: [.atMost(200)],
                        size: count
                    ),
                ]
            }
            await emulator.stop()
            return rows
        } catch {
            await emulator.stop()
            throw error
        }
    }
]

private struct ConsoleFailure: Error, CustomStringConvertible {
    let description: String
}

/// Returns the times from opening the address until the newest of all operations is shown.
private func timesToShow(_ count: Int, _ samples: Int, _ page: Browser, _ emulator: EmulatorProcess) async throws
    -> [Double]
{
    var times: [Double] = []
    for _ in 0..<samples {
        // The same address again would only be another place in the same page.
        try await page.open("about:blank")
        try await page.open("\(emulator.cloudURL)/console/#operations")
        try await page.wait(
            until: """
                document.querySelector('#tab-operations .count').textContent === '\(count)' \
                && document.querySelector('#operations-list .row')
                """
        )
        times.append(Double(try await page.evaluate("String(performance.now())")) ?? .infinity)
    }
    return times
}

/// Returns the times from the page's connection receiving a new operation until its row is drawn.
private func timesToDraw(_ samples: Int, _ page: Browser) async throws -> [Double] {
    var times: [Double] = []
    for number in 0..<samples {
        let time = try await page.evaluate(
            """
            (async () => {
              let heard;
              const events = new EventSource('../_emulator/events');
              events.addEventListener('operation', () => { heard ??= performance.now(); });
              await new Promise((done) => events.addEventListener('ready', done));
              const body = JSON.stringify({ template: 'payment', userId: 'latest-\(number).' });
              await fetch('../_emulator/cloud/operations', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
              while (!document.querySelector('#operations-list .row').textContent.includes('latest-\(number).')) {
                await new Promise(requestAnimationFrame);
              }
              events.close();
              return String(performance.now() - heard);
            })()
            """
        )
        times.append(Double(time) ?? .infinity)
    }
    return times
}
