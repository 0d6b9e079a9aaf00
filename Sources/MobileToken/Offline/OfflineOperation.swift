import Basics
import PowerAuthCrypto
import PowerAuthProtocol

/// An operation from a QR code, whose server signature was verified.
///
/// ``OfflineOperation/Unverified/verified(by:)`` returns one, so what a person is shown comes from the server. One that is made
/// by hand can be shown, such as in a test or a preview, and not authorized: that takes a QR code's string, and
/// verifies it.
public struct OfflineOperation: Sendable, Hashable, Identifiable {
    /// The operation's identifier.
    public let id: String
    /// The title.
    public let title: String
    /// The message.
    public let message: String
    /// The subject of the operation.
    public let operationData: OfflineOperation.SignedData
    /// The demands on presenting and authorizing it.
    public let flags: Flags
    /// The one-time code that is signed along, where there is one.
    public let totp: String?
    /// Lines of a newer format, which this version does not know.
    public let additionalLines: [String]
    /// The nonce of the offline signature: 16 bytes in Base64, as it came.
    public let nonce: String
    /// The server's key that signed.
    public let signingKey: SigningKey

    /// Indicates whether the code has lines that this version does not know.
    public var isNewerFormat: Bool { !self.additionalLines.isEmpty }

    /// The reasons why a person may not understand what would be signed; empty when there are none.
    ///
    /// Show ``operationData`` beside title and message: it is all that gets signed.
    public var doubts: [OperationReview.Doubt] {
        var rules = ReviewRules()
        rules.apply(to: self)
        return rules.doubts
    }

    /// The nonce's 16 bytes.
    package var nonceBytes: [UInt8] { Base64.decode(self.nonce) ?? [] }
    /// The data that an offline signature covers, `operationId&operationData[&totp]`, made of the bytes received.
    package let dataToSign: [UInt8]

    /// Creates an operation, such as for a test or a preview.
    public init(
        id: String,
        title: String,
        message: String,
        operationData: OfflineOperation.SignedData,
        flags: Flags = Flags(text: ""),
        totp: String? = nil,
        additionalLines: [String] = [],
        nonce: String,
        signingKey: SigningKey = .personalized
    ) {
        let signed = [id, operationData.text] + (totp.map { [$0] } ?? [])
        self.init(
            id: id,
            title: title,
            message: message,
            operationData: operationData,
            flags: flags,
            totp: totp,
            additionalLines: additionalLines,
            nonce: nonce,
            signingKey: signingKey,
            dataToSign: Array(signed.joined(separator: "&").utf8)
        )
    }

    init(
        id: String,
        title: String,
        message: String,
        operationData: OfflineOperation.SignedData,
        flags: Flags,
        totp: String?,
        additionalLines: [String],
        nonce: String,
        signingKey: SigningKey,
        dataToSign: [UInt8]
    ) {
        self.id = id
        self.title = title
        self.message = message
        self.operationData = operationData
        self.flags = flags
        self.totp = totp
        self.additionalLines = additionalLines
        self.nonce = nonce
        self.signingKey = signingKey
        self.dataToSign = dataToSign
    }

    /// One of the server's signing keys.
    public enum SigningKey: UInt8, Sendable, Hashable {
        /// The application's master key, for codes that fit any activation.
        case master = 0x30
        /// The activation's own server key.
        case personalized = 0x31
        /// A key that the server and the activation share, in version 4 of the protocol.
        case shared = 0x32
    }

    /// The demands on presenting and authorizing an offline operation.
    public struct Flags: Sendable, Hashable {
        /// The flags as they came, those that this version does not know included.
        public let text: String

        /// Creates flags from their letters.
        public init(text: String) {
            self.text = text
        }

        /// Indicates whether the biometry key may sign.
        public var isBiometryAllowed: Bool { self.has("B") }
        /// Indicates whether to swap the buttons that approve and reject.
        public var flipButtons: Bool { self.has("X") }
        /// Indicates whether to warn of fraud.
        public var fraudWarning: Bool { self.has("F") }
        /// Indicates whether to refuse approval while the person is on the phone.
        public var blockApprovalOnCall: Bool { self.has("C") }

        private func has(_ flag: Unicode.Scalar) -> Bool { self.text.unicodeScalars.contains(flag) }
    }
}

extension OfflineOperation: CustomStringConvertible, CustomReflectable {
    /// The identifier alone: the content of a QR code is for the person who decides.
    public var description: String { "<offline operation \(DisplayText.escaped(self.id, limit: 64))>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
