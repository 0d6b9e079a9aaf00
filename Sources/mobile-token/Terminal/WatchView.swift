import CommandLineSupport
import Foundation
import Glibc
import MobileToken

/// The view of a live list: redrawn on a terminal, a line for each change elsewhere, a document for each with `--json`.
struct WatchView: Sendable {
    let output: Output
    private var operations: [UserOperation] = []
    private var issues: [DecodingIssue] = []

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

    /// Shows issues, unless they are the same as before.
    mutating func show(_ issues: [DecodingIssue]) {
        guard issues != self.issues else { return }
        let known = Set(self.issues)
        self.issues = issues
        if self.isRedrawn {
            self.redraw()
        } else {
            Output.note(issues.filter { !known.contains($0) })
        }
    }

    func show(_ error: MobileTokenError) {
        Output.note("mobile-token: \(TextTable.printable("\(error)"))")
    }

    /// Moves to the top, writes the list and clears the rest, without flicker and without remains of the old list.
    private func redraw() {
        let clock = Date().formatted(.dateTime.hour().minute().second())
        let header = ["\(clock)  \(self.operations.count) waiting", ""]
        let rows = self.operations.table.split(separator: "\n").map(String.init) + self.issues.map(\.line)
        let page = WindowSize.current.fit(header + rows).joined(separator: "\n") + "\n"
        // Wide characters may take more columns than were counted: meanwhile no line is continued on the next row.
        Output.line("\u{1B}[?7l\u{1B}[H" + page.replacing("\n", with: "\u{1B}[K\n") + "\u{1B}[J\u{1B}[?7h")
    }
}

/// The size of a terminal's window.
struct WindowSize {
    let rows: Int
    let columns: Int

    /// The size of the window that standard output is shown in, or that of an old terminal where it is not known.
    static var current: Self {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return Self(rows: 24, columns: 80)
        }
        return Self(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// Returns the lines that fit, each on one row. What is left out is said: a person may take the view for the whole.
    func fit(_ lines: [String]) -> [String] {
        let room = max(2, self.rows - 2)  // below the last line, the cursor has one of its own
        let shown = lines.count <= room ? lines[...] : lines.prefix(room - 1)
        let leftOut = lines.count - shown.count
        let note = leftOut > 0 ? ["... and \(leftOut) more lines, which this window has no room for"] : []
        return (shown + note).map { $0.count <= self.columns ? $0 : $0.prefix(max(1, self.columns - 3)) + "..." }
    }
}

extension Output {
    /// Writes the issues of a response.
    static func note(_ issues: [DecodingIssue], omitted: Int = 0) {
        for issue in issues { self.note("mobile-token: " + issue.line) }
        if omitted > 0 { self.note("mobile-token: not read: \(omitted) more") }
    }
}

extension DecodingIssue {
    fileprivate var line: String { TextTable.printable("not read: \(self)") }
}
