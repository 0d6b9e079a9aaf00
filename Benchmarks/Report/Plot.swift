/// The report for people: for each case, ours and its baselines as bars on one scale; for cases that were measured at
/// several sizes, a line over the sizes.
struct Plot {
    private struct Bar {
        let label: String
        let value: Double
        let color: String
    }

    private static let width = 900.0
    private static let labelWidth = 270.0
    private static let barHeight = 14.0
    private static let ours = "#2b6cb0"
    private static let theirs = "#a0aec0"

    let rows: [Row]
    let caption: String

    /// The picture as SVG.
    var svg: String {
        var parts: [String] = []
        var y = 50.0
        for row in self.rows where row.size == nil {
            parts += Self.bars(of: row, at: &y)
        }
        let panels = self.panels
        if !panels.isEmpty {
            parts.append(
                Self.text(
                    "By the number of services: what does not rise grows no faster than they do",
                    x: 16,
                    y: y + 14
                )
            )
            y += 24
        }
        for panel in panels { parts += panel.drawn(at: &y) }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(y + 10)" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>
            \(Self.text(self.caption, x: 16, y: 24, weight: "bold"))
            \(parts.joined(separator: "\n"))
            </svg>

            """
    }

    private static func bars(of row: Row, at y: inout Double) -> [String] {
        let bars =
            [Bar(label: "ours", value: row.figure.median, color: Self.ours)]
            + row.baselines.map { Bar(label: $0.name, value: $0.figure.median, color: Self.theirs) }
        let longest = bars.map(\.value).max() ?? 1
        var parts = [Self.text(row.title, x: 16, y: y + 10, weight: "bold")]
        for bar in bars {
            let length = longest > 0 ? (Self.width - Self.labelWidth - 220) * bar.value / longest : 0
            parts.append(
                """
                <rect x="\(Self.labelWidth)" y="\(y)" width="\(length.formatted(decimals: 1))" \
                height="\(Self.barHeight - 3)" fill="\(bar.color)"/>
                """
            )
            let label = "\(bar.value.grouped) \(row.unit.rawValue)  \(bar.label)"
            parts.append(Self.text(label, x: Self.labelWidth + length + 6, y: y + 9))
            y += Self.barHeight
        }
        y += 10
        return parts
    }

    /// The cases that were measured at several sizes, in the order of the report.
    private var panels: [Panel] {
        var panels: [Panel] = []
        for row in self.rows where row.size != nil {
            let title = row.detail ?? row.name
            if let index = panels.firstIndex(where: { $0.title == title }) {
                panels[index].rows.append(row)
            } else {
                panels.append(Panel(title: title, rows: [row]))
            }
        }
        return panels
    }

    /// One measure over the sizes, which lie at equal distances when each is the same multiple of the one before. A line
    /// that does not rise says that the whole cost grows with the size, and no faster.
    private struct Panel {
        let title: String
        var rows: [Row]

        func drawn(at y: inout Double) -> [String] {
            let height = 70.0
            let top = y + 18
            let highest = self.rows.map(\.figure.median).max() ?? 1
            let points = self.rows.enumerated().map { index, row in
                let share = highest > 0 ? row.figure.median / highest : 0
                return (x: Plot.labelWidth + 30 + 180 * Double(index), y: top + height * (1 - share), row: row)
            }
            let line = points.map { "\($0.x.formatted(decimals: 1)),\($0.y.formatted(decimals: 1))" }
            var parts = [
                Plot.text(self.title, x: 16, y: top + height / 2, weight: "bold"),
                """
                <line x1="\(Plot.labelWidth)" y1="\(top + height)" x2="\(Plot.width - 90)" y2="\(top + height)" \
                stroke="\(Plot.theirs)"/>
                """,
                #"<polyline points="\#(line.joined(separator: " "))" fill="none" stroke="\#(Plot.ours)" stroke-width="2"/>"#,
            ]
            for point in points {
                let value = "\(point.row.figure.median.grouped) \(point.row.unit.rawValue)"
                let size = Double(point.row.size ?? 0).grouped
                parts += [
                    #"<circle cx="\#(point.x)" cy="\#(point.y.formatted(decimals: 1))" r="3.5" fill="\#(Plot.ours)"/>"#,
                    Plot.text(value, x: point.x + 7, y: point.y - 5),
                    Plot.text(size, x: point.x - 8, y: top + height + 14),
                ]
            }
            y = top + height + 34
            return parts
        }
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
