import Basics
package import ExactJSON
import Foundation
import Glibc

/// The output of a command: text for people, or JSON documents for programs.
package struct Output: Sendable {
    /// Indicates whether results are written as JSON.
    package let isJSON: Bool

    package init(isJSON: Bool) { self.isJSON = isJSON }

    /// Indicates whether standard output is a terminal, which can be redrawn.
    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes a result: `document` with `--json`, else `text`.
    package func result(_ document: @autoclosure () -> JSONValue, text: @autoclosure () -> String) {
        Self.line(self.isJSON ? Self.json(document()) : text())
    }

    /// Writes the result of a change. A write failure is reported on standard error but keeps the exit code of success, because a
    /// script would repeat the change after a failure.
    package func outcome(_ document: @autoclosure () -> JSONValue, text: @autoclosure () -> String) {
        _ = Self.isWritten(self.isJSON ? Self.json(document()) : text())
    }

    /// Returns a document on one line, without characters that a terminal would interpret.
    private static func json(_ document: JSONValue) -> String {
        DisplayText.escaped(json: String(decoding: document.serialized(), as: UTF8.self))
    }

    /// Writes a line to standard output in one piece. If that fails, the program exits.
    package static func line(_ text: String) {
        guard self.isWritten(text) else { exit(ExitCode.local.rawValue) }
    }

    /// Writes a line to standard output, and reports a failure on standard error.
    private static func isWritten(_ text: String) -> Bool {
        let failure = self.write(text, to: STDOUT_FILENO)
        // A reader that closed the pipe needs no more.
        if failure != 0, failure != EPIPE {
            self.note("\(CommandLineProgram.name): cannot write the output: \(String(cString: strerror(failure)))")
        }
        return failure == 0
    }

    /// Writes a line for people to standard error. External strings must be made printable first.
    package static func note(_ text: String) {
        _ = self.write(text, to: STDERR_FILENO)
    }

    /// Writes a document for programs to standard error, on one line.
    package static func note(_ document: JSONValue) { self.note(self.json(document)) }

    /// Writes a line, and returns the system's error, or 0.
    private static func write(_ text: String, to descriptor: CInt) -> CInt {
        var rest = Array((text + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count < 0 else {
                rest = rest.dropFirst(count)
                continue
            }
            if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Opens closed standard descriptors. Otherwise the next file or connection would get their number, and messages for people
    /// would be written to it.
    static func fillClosedDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // Results must not vanish without an error, so standard output is opened read-only.
            _ = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
