import Basics

/// The reason for which a device opens its vault; the server keeps it.
package enum VaultReason {
    /// Returns whether servers take a reason, in every version: 3 to 255 letters and digits of ASCII, `_`, `-` or `.`.
    package static func isValid(_ reason: String) -> Bool {
        (3...255).contains(reason.utf8.count)
            && reason.utf8.allSatisfy { $0.isASCIILetterOrDigit || "_-.".utf8.contains($0) }
    }
}
