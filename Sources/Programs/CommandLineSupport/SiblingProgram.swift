import Foundation
import Glibc

/// Another program of this package, which runs some of this program's commands.
package struct SiblingProgram: Sendable {
    let executable: String
    /// Its name in help pages and messages.
    let shownName: String
    /// The words before the caller's.
    let words: [String]

    package init(_ executable: String, shownAs shownName: String, words: String...) {
        self.executable = executable
        self.shownName = shownName
        self.words = words
    }

    /// Replaces this program in the same process, which keeps signals and the exit status.
    ///
    /// The program in the same folder takes precedence over `PATH`, which may have another version.
    ///
    /// - Returns: The reason why the program cannot be run; otherwise the call does not return.
    ///
    /// - Parameters:
    ///   - rest: The caller's words.
    ///   - isBare: `true` to pass only `rest`, without the words that select the command.
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
