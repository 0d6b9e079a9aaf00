internal import Foundation
internal import MobileToken

/// Shows a live list: redrawn on a terminal, a line for each change elsewhere, a document each with `--json`.
struct WatchView: Sendable {
    let output: Output

    func show(_ change: OperationListChange) {
        if self.output.isJSON {
            self.output.result(change.document, text: "")
        } else if Output.isTerminal {
            // Home, list, clear the rest: no flicker, and nothing of the old list stays.
            let clock = Date().formatted(.dateTime.hour().minute().second())
            let page = "\(clock)  \(change.operations.count) waiting\n\n\(change.operations.table)\n"
            Output.line("\u{1B}[H" + page.replacing("\n", with: "\u{1B}[K\n") + "\u{1B}[J")
        } else {
            for line in change.lines { Output.line(line) }
        }
    }

    func show(_ error: MobileTokenError) {
        Output.note("mobile-token: \(error)")
    }
}
