internal import Foundation
internal import PowerAuthProtocol

/// Where a command's results go: text for people, or JSON documents for programs.
struct Output: Sendable {
    /// Whether results are written as JSON.
    let isJSON: Bool

    /// Whether standard output is a terminal, which can be redrawn.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes a result: `document` with `--json`, else `text`.
    func result(_ document: @autoclosure () -> JSONValue, text: @autoclosure () -> String) {
        Self.line(self.isJSON ? String(decoding: document().serialized(), as: UTF8.self) : text())
    }

    /// Writes a line to standard output, whole and at once.
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// Writes a line for people to standard error.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
