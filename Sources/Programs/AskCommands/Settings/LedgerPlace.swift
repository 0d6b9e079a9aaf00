package import CommandLineSupport
import Foundation
package import MobileTokenApprovals

/// The place of a ledger in a profile: `sqlite:PATH`, or another scheme that the program may know.
package struct LedgerPlace: Sendable, CustomStringConvertible {
    /// The kind of ledger, such as `sqlite`.
    package let scheme: String
    /// The rest, in the form of that kind.
    package let location: String

    package var description: String { "\(self.scheme):\(self.location)" }

    /// Parses a string; paths are made absolute, so that they mean the same in any folder.
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

    /// Returns the unopened ledger.
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
    /// An unopened ledger, and the environment variables with its secrets, which a command does not inherit.
    package typealias Opened = (ledger: ApprovalLedger, secretVariables: Set<String>)

    let scheme: String
    /// The form of its place in a profile.
    let form: String
    /// The connection options of each call.
    let options: [Command.Option]
    let open: @Sendable (LedgerPlace, SealingKeySource?, Invocation) throws -> Opened

    /// - Parameters:
    ///   - form: The form of its place in a profile, such as `sqlite:PATH`.
    ///   - options: The connection options of each call.
    package init(
        scheme: String,
        form: String,
        options: [Command.Option] = [],
        open: @escaping @Sendable (LedgerPlace, SealingKeySource?, Invocation) throws -> Opened
    ) {
        (self.scheme, self.form, self.options, self.open) = (scheme, form, options, open)
    }

    /// A local file, which every program can open.
    package static let sqlite = Self(scheme: "sqlite", form: "sqlite:PATH") { place, key, _ in
        (.sqlite(path: place.location, sealing: key), Set([key?.variable].compactMap(\.self)))
    }
}
