import Basics

/// Rows in aligned columns.
package struct TextTable {
    private var rows: [[String]] = []

    package init(header: String...) { self.rows.append(header) }

    package mutating func add(_ cells: String...) { self.rows.append(cells.map(Self.printable)) }

    package var text: String {
        let columns = self.rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            self.rows.compactMap { $0.indices.contains(column) ? $0[column].count : nil }.max() ?? 0
        }
        return self.rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                // The last column is not padded: no spaces at line ends.
                index == row.count - 1 ? cell.0 : cell.0 + String(repeating: " ", count: cell.1 - cell.0.count)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Returns a string from outside on one line, so that it can neither steer the terminal nor look like several rows. A
    /// string that is cut ends with the number of characters that are missing, since a person may decide by it.
    package static func printable(_ string: String) -> String { DisplayText.escaped(string, limit: 2_000) }
}
