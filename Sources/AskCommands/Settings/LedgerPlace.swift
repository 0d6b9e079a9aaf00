import CommandLineSupport
import Foundation
package import MobileTokenApprovals
package import PowerAuth

/// The place of a ledger as a profile names it: `sqlite:PATH`, or a scheme that the program at hand may know.
package struct LedgerPlace: Sendable, CustomStringConvertible {
    /// The kind of ledger, such as `sqlite`.
    package let scheme: String
    /// The rest, which means something to that kind.
    package let location: String

    package var description: String { "\(self.scheme):\(self.location)" }

    /// Reads a string; a path is made absolute, so that it means the same in any folder.
    ///
    /// - Throws: `UsageError`.
    package init(_ string: String) throws {
        let parts = string.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw UsageError(message: "a ledger is named by sqlite:PATH")
        }
        self.scheme = parts[0]
        self.location = parts[0] == "sqlite" ? URL(filePath: parts[1]).absoluteURL.path : parts[1]
    }

    /// The kinds of ledgers that a program can open, by scheme. All of them have SQLite.
    package typealias Openers = [String: @Sendable (LedgerPlace, (any SealingKeyProvider)?) throws -> ApprovalLedger]

    package static let openers: Openers = ["sqlite": { .sqlite(path: $0.location, sealing: $1) }]

    /// Returns the ledger, which is not opened yet.
    func ledger(sealedBy key: (any SealingKeyProvider)?, _ openers: Openers) throws -> ApprovalLedger {
        guard let opener = openers[self.scheme] else {
            let known = openers.keys.sorted().map { "\($0):" }.joined(separator: " and ")
            throw UsageError(message: "this program has no ledger in '\(self.scheme)', but \(known)")
        }
        return try opener(self, key)
    }
}
