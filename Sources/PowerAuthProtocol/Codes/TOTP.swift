import Basics
package import PowerAuthCrypto

/// One-time codes that change with time (RFC 6238, with HMAC-SHA-256): what proves that two devices are side by side.
package struct TOTP: Sendable, Equatable {
    /// How many digits a code may have: an HMAC yields no more than nine that are all uniform enough.
    package static let digitCounts = 6...9

    private let secret: SecretBytes
    private let digits: Int
    private let step: Int64

    /// Describes the codes of a secret.
    ///
    /// - Parameters:
    ///   - digits: Their length.
    ///   - step: How many seconds each lives.
    package init(secret: SecretBytes, digits: Int = 8, step: Int64 = 30) {
        precondition(Self.digitCounts.contains(digits) && step > 0)
        self.secret = secret
        self.digits = digits
        self.step = step
    }

    /// The code at a time, in seconds since 1970, which must not be negative.
    package func code(at seconds: Int64) -> String { self.code(ofStep: max(0, seconds) / self.step) }

    /// Whether a code is the one of a time, or of one of the steps before it.
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
        return DecimalCode.text(of: tag[offset..<(offset + 4)], digits: self.digits)
    }
}
