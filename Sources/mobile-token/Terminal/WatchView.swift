import CommandLineSupport
import Foundation
import MobileToken

/// The view of a live list: redrawn on a terminal, a line for each change elsewhere, a document for each with `--json`.
struct WatchView: Sendable {
    let output: Output
    private var operations: [UserOperation] = []
    private var issues: [DecodingIssue] = []

    init(output: Output) { self.output = output }

    private var isRedrawn: Bool { !self.output.isJSON && Output.isTerminal }

    mutating func show(_ change: OperationListChange) {
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
        let lines = ["\(clock)  \(self.operations.count) waiting", "", self.operations.table]
        let page = (lines + self.issues.map(\.line)).joined(separator: "\n") + "\n"
        Output.line("\u{1B}[H" + page.replacing("\n", with: "\u{1B}[K\n") + "\u{1B}[J")
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
