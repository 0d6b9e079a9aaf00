import Basics

/// Rows in aligned columns.
package struct TextTable {
    private var rows: [[String]] = []

    package init(header: String...) { self.rows.append(header) }

    package mutating func add(_ cells: String...) { self.rows.append(cells.map(Self.printable)) }

    /// Adds a name and a text, which is shown in full because a user decides by it.
    package mutating func addWhole(_ name: String, _ text: String) {
        self.rows.append([Self.printable(name), DisplayText.escaped(text, limit: .max)])
    }

    package var text: String {
        let columns = self.rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            self.rows.compactMap { $0.indices.contains(column) ? Self.width(of: $0[column]) : nil }.max() ?? 0
        }
        return self.rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                // The last column is not padded, to avoid trailing spaces.
                index == row.count - 1
                    ? cell.0 : cell.0 + String(repeating: " ", count: max(0, cell.1 - Self.width(of: cell.0)))
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Returns a string's width in terminal columns: two for each East Asian character and each emoji.
    package static func width(of string: String) -> Int { string.reduce(0) { $0 + self.width(of: $1) } }

    package static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first, scalar.value >= 0x1100 else { return 1 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x2_0000...0x3_FFFD:
            return 2
        default: return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }

    /// Returns an external string on one line, so that it can neither control the terminal nor look like several rows. If cut, it
    /// ends with the number of missing characters, because a person may decide by it.
    package static func printable(_ string: String) -> String { DisplayText.escaped(string, limit: 2_000) }
}
