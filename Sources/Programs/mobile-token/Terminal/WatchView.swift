import CommandLineSupport
import Foundation
import Glibc
import MobileToken

/// The view of a live list: redrawn on a terminal, otherwise a line for each change, or a document with `--json`.
struct WatchView: Sendable {
    let output: Output
    private var operations: [UserOperation] = []
    private var notRead: [String] = []

    init(output: Output) { self.output = output }

    private var isRedrawn: Bool { !self.output.isJSON && Output.isTerminal }

    mutating func show(_ change: OperationList.Change) {
        self.operations = change.operations
        if self.output.isJSON {
            self.output.result(change.document, text: "")
        } else if self.isRedrawn {
            self.redraw()
        } else {
            for line in change.lines { Output.line(line) }
        }
    }

    /// Shows the unreadable parts if they changed.
    mutating func show(_ notRead: [String]) {
        guard notRead != self.notRead else { return }
        let known = Set(self.notRead)
        self.notRead = notRead
        if self.isRedrawn {
            self.redraw()
        } else {
            for line in notRead where !known.contains(line) { Output.note("mobile-token: \(line)") }
        }
    }

    func show(_ error: MobileTokenError) {
        Output.note("mobile-token: \(TextTable.printable("\(error)"))")
    }

    /// Moves to the top, writes the list and clears the rest, without flicker or remains of the old list.
    private func redraw() {
        // In the format of all other times.
        let clock = Date().formatted(.iso8601)
        let header = ["\(clock)  \(self.operations.count) waiting", ""]
        // All operations may be unreadable.
        let isEmpty = self.operations.isEmpty && !self.notRead.isEmpty
        let rows = (isEmpty ? [] : self.operations.table.split(separator: "\n").map(String.init)) + self.notRead
        let page = WindowSize.current.fit(header + rows).joined(separator: "\n") + "\n"
        // Some characters may be wider than counted, so line wrapping is off meanwhile.
        Output.line("\u{1B}[?7l\u{1B}[H" + page.replacing("\n", with: "\u{1B}[K\n") + "\u{1B}[J\u{1B}[?7h")
    }
}

struct WindowSize {
    let rows: Int
    let columns: Int

    /// The window size of standard output, or an old terminal's if unknown.
    static var current: Self {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return Self(rows: 24, columns: 80)
        }
        return Self(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// Returns the lines that fit, each on one row, with a note about omitted ones, because a person may take the view for the
    /// whole.
    func fit(_ lines: [String]) -> [String] {
        let room = max(2, self.rows - 2)  // below the last line, the cursor has one of its own
        let shown = lines.count <= room ? lines[...] : lines.prefix(room - 1)
        let leftOut = lines.count - shown.count
        let note = leftOut > 0 ? ["... and \(leftOut) more lines, which this window has no room for"] : []
        return (shown + note).map { TextTable.width(of: $0) <= self.columns ? $0 : self.cut($0) + "..." }
    }

    /// Returns the start of a line that leaves room for a truncation mark.
    private func cut(_ line: String) -> Substring {
        var room = max(1, self.columns - 3)
        return line.prefix { character in
            room -= TextTable.width(of: character)
            return room >= 0
        }
    }
}
