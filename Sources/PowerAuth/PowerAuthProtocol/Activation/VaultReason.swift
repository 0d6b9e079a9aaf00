import Basics

/// The reason for unlocking a vault, recorded by the server.
package enum VaultReason {
    /// Sets up the biometry factor.
    package static let addBiometry = "ADD_BIOMETRY"

    /// The maximum length: servers 1.9 store this many characters in their audit.
    package static let maximumLength = 198

    /// Returns whether servers of all versions accept a reason: 3 to 198 ASCII letters, digits, `_`, `-` or `.`.
    package static func isValid(_ reason: String) -> Bool {
        (3...Self.maximumLength).contains(reason.utf8.count)
            && reason.utf8.allSatisfy { $0.isASCIILetterOrDigit || "_-.".utf8.contains($0) }
    }
}
