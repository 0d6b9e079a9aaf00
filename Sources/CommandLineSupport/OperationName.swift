import Basics
import Foundation

/// An operation as a person or a script names it: its identifier, or how that begins.
package struct OperationName: Sendable {
    package let string: String

    /// The shortest beginning that names an operation. A shorter one is a slip more often than a name.
    private static let shortestBeginning = 4

    /// - Throws: `UsageError` for nothing at all, as a script passes it whose variable is not set.
    package init(_ string: String) throws {
        guard !string.isEmpty else { throw UsageError(message: "the operation's identifier is empty") }
        self.string = string
    }

    /// A name as long as a whole identifier, which needs no look at the list.
    package var isWhole: Bool { self.string.utf8.count >= UUID().uuidString.utf8.count }

    /// Returns the identifier that is meant among those that are listed; itself when none begins so.
    ///
    /// - Throws: `UsageError` when several begin so, or when a beginning is too short.
    package func resolved(among ids: [String]) throws -> String {
        // Whatever else begins so: who names an operation whole means that one.
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
