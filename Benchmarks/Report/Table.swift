/// The report for a terminal.
struct Table {
    private static let header = [
        "case", "ours", "baseline", "", "ratio", "spread", "CPU", "CPU ratio", "allocations", "baseline's", "goal",
    ]

    let rows: [Row]

    var text: String {
        Self.aligned([Self.header] + self.rows.flatMap(Self.lines(of:)), leading: [0, 3, 10])
    }

    /// Aligns columns of lines that all have as many cells.
    ///
    /// - Parameter leading: The columns that begin at the left.
    static func aligned(_ lines: [[String]], leading: Set<Int>) -> String {
        let widths = (lines.first ?? []).indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            line.enumerated().map { column, text in
                let padding = String(repeating: " ", count: widths[column] - text.count)
                return leading.contains(column) ? text + padding : padding + text
            }
            .joined(separator: "  ").trimmedAtEnd
        }
        .joined(separator: "\n")
    }

    /// A line for the first baseline and the first goal, and one for each further.
    private static func lines(of row: Row) -> [[String]] {
        (0..<max(1, row.baselines.count, row.goals.count)).map { index in
            let baseline = index < row.baselines.count ? row.baselines[index] : nil
            let goal = index < row.goals.count ? row.goals[index] : nil
            let isFirst = index == 0
            return [
                isFirst ? row.title : "",
                isFirst ? "\(row.figure.median.grouped) \(row.unit.rawValue)" : "",
                baseline.map { "\($0.figure.median.grouped) \(row.unit.rawValue)" } ?? "",
                baseline?.name ?? "",
                baseline.map { "\(row.ratio(to: $0).formatted(decimals: 2)) ×" } ?? "",
                isFirst && row.figure.samples.count > 1
                    ? "± \((row.figure.spread * 100).formatted(decimals: 1)) %" : "",
                isFirst ? row.processorTime.map { "\($0.grouped) ns" } ?? "" : "",
                Self.ratio(row.processorTime, baseline?.processorTime),
                isFirst ? row.allocations?.formatted(decimals: 1) ?? "" : "",
                baseline?.allocations?.formatted(decimals: 1) ?? "",
                goal.map { self.mark($0.isMet(by: row)) + $0.text(in: row.unit) } ?? "",
            ]
        }
    }

    private static func ratio(_ one: Double?, _ other: Double?) -> String {
        guard let one, let other else { return "" }
        return "\((one / other).formatted(decimals: 2)) ×"
    }

    private static func mark(_ isMet: Bool?) -> String {
        switch isMet {
        case true?: "✓ "
        case false?: "✗ "
        case nil: "? "
        }
    }
}

extension String {
    fileprivate var trimmedAtEnd: String {
        guard let last = self.lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...last])
    }
}
