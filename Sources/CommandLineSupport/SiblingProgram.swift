import Foundation
import Glibc

/// Another program of this package, which runs some commands of this one.
package struct SiblingProgram: Sendable {
    let executable: String
    /// The name that it uses in its help pages and messages.
    let shownName: String
    /// The words before those of the caller.
    let words: [String]

    package init(_ executable: String, shownAs shownName: String, words: String...) {
        self.executable = executable
        self.shownName = shownName
        self.words = words
    }

    /// Runs the program in place of this one: the process stays the same, and with it signals and the exit status.
    ///
    /// The program beside this one comes before those on `PATH`, which may be of another version.
    ///
    /// - Returns: The reason why the program cannot be run. When it can, the call does not return.
    ///
    /// - Parameters:
    ///   - rest: The words of the caller.
    ///   - isBare: `true` if `rest` is passed on alone, without the words that select the command.
    func takeOver(with rest: [String], isBare: Bool = false) -> String {
        let words = ([self.shownName] + (isBare ? [] : self.words) + rest).map { strdup($0) }
        defer { for word in words { free(word) } }
        if let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            let path = URL(filePath: folder).deletingLastPathComponent().appending(path: self.executable).path
            execv(path, words + [nil])
            guard errno == ENOENT else { return "cannot run '\(path)': \(String(cString: strerror(errno)))" }
        }
        execvp(self.executable, words + [nil])
        guard errno == ENOENT else { return "cannot run '\(self.executable)': \(String(cString: strerror(errno)))" }
        return "this needs the program '\(self.executable)', which is neither beside this one nor on PATH"
    }
}
