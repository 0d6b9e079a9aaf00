/// The report for people: for each case, ours and its baselines as bars on one scale.
struct Plot {
    private struct Bar {
        let label: String
        let value: Double
        let color: String
    }

    private static let width = 900.0
    private static let labelWidth = 250.0
    private static let barHeight = 14.0

    let rows: [Row]
    let caption: String

    /// The picture as SVG.
    var svg: String {
        var parts: [String] = []
        var y = 50.0
        for row in self.rows {
            parts.append(Self.text(row.name, x: 16, y: y + 11, weight: "bold"))
            let bars = Self.bars(of: row)
            let longest = bars.map(\.value).max() ?? 1
            for bar in bars {
                let length = longest > 0 ? (Self.width - Self.labelWidth - 220) * bar.value / longest : 0
                parts.append(
                    """
                    <rect x="\(Self.labelWidth)" y="\(y)" width="\(length.formatted(decimals: 1))" \
                    height="\(Self.barHeight - 3)" fill="\(bar.color)"/>
                    """
                )
                let label = "\(bar.value.grouped) \(row.unit.rawValue)  \(bar.label)"
                parts.append(Self.text(label, x: Self.labelWidth + length + 6, y: y + 10))
                y += Self.barHeight
            }
            y += 10
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(y + 10)" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>
            \(Self.text(self.caption, x: 16, y: 24, weight: "bold"))
            \(parts.joined(separator: "\n"))
            </svg>

            """
    }

    private static func bars(of row: Row) -> [Bar] {
        [Bar(label: "ours", value: row.figure.median, color: "#2b6cb0")]
            + row.baselines.map { Bar(label: $0.name, value: $0.figure.median, color: "#a0aec0") }
    }

    private static func text(_ text: String, x: Double, y: Double, weight: String = "normal") -> String {
        let escaped = text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: String(character)
            }
        }
        .joined()
        return """
            <text x="\(x.formatted(decimals: 1))" y="\(y.formatted(decimals: 1))" font-weight="\(weight)">\(escaped)</text>
            """
    }
}
