package import CommandLineSupport
import Foundation
package import MobileTokenApprovals

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
            throw UsageError(message: "a ledger is named by its kind, : and its place, such as sqlite:PATH")
        }
        self.scheme = parts[0]
        self.location = parts[0] == "sqlite" ? URL(filePath: parts[1]).absoluteURL.path : parts[1]
    }

    /// Returns the ledger, which is not opened yet.
    func ledger(sealedBy key: SealingKeySource?, _ openers: [LedgerOpener], _ invocation: Invocation) throws
        -> LedgerOpener.Opened
    {
        guard let opener = openers.first(where: { $0.scheme == self.scheme }) else {
            let known = openers.map { "\($0.scheme):" }.joined(separator: " and ")
            throw UsageError(message: "this program has no ledger in '\(self.scheme)', but \(known)")
        }
        return try opener.open(self, key, invocation)
    }
}

/// A kind of ledger that a program can open.
package struct LedgerOpener: Sendable {
    /// A ledger that is not opened yet, and the environment variables with its secrets, which a command does not inherit.
    package typealias Opened = (ledger: ApprovalLedger, secretVariables: Set<String>)

    let scheme: String
    /// The form in which a profile names such a ledger.
    let form: String
    /// The options of each call that say how it is reached.
    let options: [Command.Option]
    let open: @Sendable (LedgerPlace, SealingKeySource?, Invocation) throws -> Opened

    /// - Parameters:
    ///   - form: The form in which a profile names such a ledger, such as `sqlite:PATH`.
    ///   - options: The options of each call that say how it is reached.
    package init(
        scheme: String,
        form: String,
        options: [Command.Option] = [],
        open: @escaping @Sendable (LedgerPlace, SealingKeySource?, Invocation) throws -> Opened
    ) {
        (self.scheme, self.form, self.options, self.open) = (scheme, form, options, open)
    }

    /// A file of this machine, which every program can open.
    package static let sqlite = Self(scheme: "sqlite", form: "sqlite:PATH") { place, key, _ in
        (.sqlite(path: place.location, sealing: key), Set([key?.variable].compactMap(\.self)))
    }
}
