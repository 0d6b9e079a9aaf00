struct SoakReport {
    let samples: [SoakSample]
    let title: String

    private struct Measure {
        let name: String
        let value: @Sendable (SoakSample) -> Double
    }

    private static let measures = [
        Measure(name: "memory, MB") { Double($0.residentBytes) / Double(1 << 20) },
        Measure(name: "descriptors") { Double($0.descriptorCount) },
        Measure(name: "threads") { Double($0.threadCount) },
        Measure(name: "operations made") { Double($0.operationCount) },
        Measure(name: "longest lag of a poll, ms") { $0.longestLag / .milliseconds(1) },
    ]

    /// A line for each of at most 20 moments at equal distances, and for the last one.
    var table: String {
        let step = max(1, self.samples.count / 20)
        let chosen = self.samples.enumerated().filter { index, _ in
            index.isMultiple(of: step) || index == self.samples.count - 1
        }
        let rows =
            [["s"] + Self.measures.map(\.name)]
            + chosen.map { _, sample in
                ["\(sample.elapsed.components.seconds)"] + Self.measures.map { "\(Int($0.value(sample).rounded()))" }
            }
        let widths = rows[0].indices.map { column in rows.map { $0[column].utf8.count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).map { cell, width in String(repeating: " ", count: width - cell.utf8.count) + cell }
                .joined(separator: "  ")
        }
        .joined(separator: "\n")
    }

    /// A picture with a line over time for each measure, each from zero on a scale of its own.
    var svg: String {
        let (width, height, left, gap) = (900, 90, 20, 40)
        let last = max(1, self.samples.last.map { $0.elapsed / .seconds(1) } ?? 1)
        let panels = Self.measures.enumerated().map { index, measure in
            let top = 50 + index * (height + gap)
            let highest = max(1, self.samples.map(measure.value).max() ?? 1)
            let points = self.samples.map { sample in
                let x = Double(left) + Double(width - 2 * left) * (sample.elapsed / .seconds(1)) / last
                let y = Double(top) + Double(height) * (1 - measure.value(sample) / highest)
                return "\(Int(x.rounded())),\(Int(y.rounded()))"
            }
            return """
                <text x="\(left)" y="\(top - 6)">\(measure.name): at most \(Int(highest.rounded()))</text>
                <path d="M\(left) \(top + height)H\(width - left)" stroke="#a0aec0"/>
                <polyline points="\(points.joined(separator: " "))" fill="none" stroke="#2b6cb0" stroke-width="1.5"/>
                """
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(50 + panels.count * (height + gap))" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>
            <text x="\(left)" y="22" font-weight="bold">\(self.title), \(Int(last)) s</text>
            \(panels.joined(separator: "\n"))
            </svg>

            """
    }
}
