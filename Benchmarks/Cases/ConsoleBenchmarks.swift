import ExactJSON
import HeadlessBrowser

/// The waits of a person at the console, in a real browser.
let consoleBenchmarks: [Benchmark] = [
    Benchmark("console.operations", "10 000 operations opened in the console, and what happens then, in Chromium") {
        settings in
        guard Browser.executable != nil else { throw ConsoleFailure(description: "Chromium is not installed") }
        let emulator = try EmulatorProcess()
        do {
            try await inParallel(16) { lane in
                for number in stride(from: lane, to: operationCount, by: 16) {
                    _ = try await emulator.control("operations", ["template": "payment", "userId": "user-\(number)"])
                }
            }
            let rows = try await withBrowser(width: 1400, height: 900) { page in
                let opened = try await timesToOpen(settings.rounds(quick: 3, thorough: 9), page, emulator)
                let seen = try await timesToDraw(settings.rounds(quick: 5, thorough: 21), page)
                let changes = max(50, settings.rounds(quick: 200, thorough: 1_000))
                let frames = try await framesUnderLoad(changes, page, emulator)
                guard page.complaints.isEmpty else {
                    throw ConsoleFailure(description: page.complaints.joined(separator: "\n"))
                }
                let (times, bytes) = (Figure(samples: opened.map(\.time)), Figure(samples: opened.map(\.bytes)))
                return [
                    row("from the address to all of them", .milliseconds, times, atMost: 3_000),
                    row("transferred until then", .bytes, bytes, atMost: 1_000_000),
                    row("from an event to its pixels", .milliseconds, Figure(samples: seen), atMost: 200),
                    row("frame under load, p99", .milliseconds, Figure(frames.percentile(99)), atMost: 50),
                    row("frame under load", .milliseconds, Figure(frames.median)),
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

private let operationCount = 10_000

private func row(_ detail: String, _ unit: Unit, _ figure: Figure, atMost limit: Double? = nil) -> Row {
    Row(
        name: "console.operations",
        detail: detail,
        unit: unit,
        figure: figure,
        goals: limit.map { [.atMost($0)] } ?? [],
        size: operationCount
    )
}

private struct ConsoleFailure: Error, CustomStringConvertible {
    let description: String
}

/// Returns the times from opening the address until every operation is in the list, and the bytes transferred until then.
private func timesToOpen(_ samples: Int, _ page: Browser, _ emulator: EmulatorProcess) async throws
    -> [(time: Double, bytes: Double)]
{
    var results: [(time: Double, bytes: Double)] = []
    for _ in 0..<samples {
        // The same address again would only be another place in the same page.
        try await page.open("about:blank")
        try await page.open("\(emulator.cloudURL)/console/#operations")
        let size = "document.querySelector('#operations-list .row').getAttribute('aria-setsize')"
        try await page.wait(until: "\(size) === '\(operationCount)'")
        let time = Double(try await page.evaluate("String(performance.now())")) ?? .infinity
        try await page.wait(until: "'ready' in document.body.dataset")
        let bytes = try await page.evaluate(
            "performance.getEntries().reduce((sum, one) => sum + (one.transferSize ?? 0), 0)"
        )
        results.append((time, Double(bytes) ?? .infinity))
    }
    return results
}

/// Returns the times between frames, in milliseconds, while an operation is made every 20 ms.
private func framesUnderLoad(_ count: Int, _ page: Browser, _ emulator: EmulatorProcess) async throws -> Figure {
    try await page.evaluate(
        """
        window.frames = [];
        window.drawFrame = (time) => { window.frames.push(time); requestAnimationFrame(window.drawFrame); };
        requestAnimationFrame(window.drawFrame);
        1
        """
    )
    let start = ContinuousClock.now
    for number in 0..<count {
        _ = try await emulator.control("operations", ["template": "payment", "userId": "live-\(number)"])
        try await Task.sleep(until: start + .milliseconds(20 * number), clock: .continuous)
    }
    let text = try await page.evaluate(
        "window.frames.slice(1).map((time, index) => time - window.frames[index]).join()"
    )
    return Figure(samples: text.split(separator: ",").compactMap { Double($0) })
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
