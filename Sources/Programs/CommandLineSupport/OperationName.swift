import Basics
import Foundation

/// A reference to an operation: its identifier, or a prefix of it.
package struct OperationName: Sendable {
    package let string: String

    /// The minimum length of a prefix. A shorter one is probably a mistake.
    private static let shortestBeginning = 4

    /// - Throws: `UsageError` for an empty string, as from an unset variable of a script.
    package init(_ string: String) throws {
        guard !string.isEmpty else { throw UsageError(message: "the operation's identifier is empty") }
        self.string = string
    }

    /// Indicates whether it is a complete identifier, which needs no look at the list.
    package var isWhole: Bool { self.string.utf8.count >= UUID().uuidString.utf8.count }

    /// Returns the listed identifier with this prefix, or the string itself if there is none.
    ///
    /// - Throws: `UsageError` if there are several, or the prefix is too short.
    package func resolved(among ids: [String]) throws -> String {
        // A complete identifier takes precedence over prefixes.
        if ids.contains(where: { $0.isExactly(self.string) }) { return self.string }
        let candidates = ids.filter { $0.utf8.starts(with: self.string.utf8) }
        guard let id = candidates.first else { return self.string }
        guard candidates.count == 1 else {
            throw UsageError(message: "\(candidates.count) operations begin with '\(self.string)'")
        }
        guard self.string.utf8.count >= Self.shortestBeginning else {
            throw UsageError(
                message: "'\(self.string)' is too short to name an operation: give \(Self.shortestBeginning) characters"
            )
        }
        return id
    }
}
