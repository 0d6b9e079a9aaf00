import Basics
package import PowerAuthCrypto
import PowerAuthProtocol

/// Time-based one-time codes (RFC 6238, with HMAC-SHA-256), which prove that two devices are side by side.
package struct TOTP: Sendable, Equatable {
    /// The allowed numbers of digits: an HMAC gives at most nine that are uniform enough.
    package static let digitCounts = 6...9

    private let secret: SecretBytes
    private let digits: Int
    private let step: Int64

    /// Creates the codes of a secret.
    ///
    /// - Parameters:
    ///   - digits: The number of digits, 6 to 9.
    ///   - step: The validity of a code in seconds.
    package init(secret: SecretBytes, digits: Int = 8, step: Int64 = 30) {
        precondition(Self.digitCounts.contains(digits) && step > 0)
        self.secret = secret
        self.digits = digits
        self.step = step
    }

    /// Returns the code at a time in seconds since 1970.
    package func code(at seconds: Int64) -> String { self.code(ofStep: max(0, seconds) / self.step) }

    /// Returns whether `code` belongs to a time in seconds since 1970, or to one of the steps before it.
    package func isValid(_ code: String, at seconds: Int64, pastSteps: Int = 1) -> Bool {
        let step = max(0, seconds) / self.step
        let code = Array(code.utf8)
        return (0...Int64(pastSteps)).contains { past in
            step >= past && constantTimeEquals(Array(self.code(ofStep: step - past).utf8), code)
        }
    }

    private func code(ofStep step: Int64) -> String {
        let tag = HMACSHA256.authenticate(step.bigEndianBytes, key: self.secret)
        let offset = Int(tag[tag.count - 1] & 0x0F)
        return DecimalCode.string(of: tag[offset..<(offset + 4)], digits: self.digits)
    }
}
