import Basics
public import MobileToken
import PowerAuthCrypto

/// An operation from a QR code with a verified server signature.
///
/// ``OfflineOperation/Unverified/verified(by:)`` returns one, so a person sees only content from the server. An operation built
/// by hand can be shown, such as in a test or a preview, but not authorized: authorizing takes the QR code's string and verifies
/// it again.
public struct OfflineOperation: Sendable, Hashable, Identifiable {
    /// The operation's identifier.
    public let id: String
    /// The title.
    public let title: String
    /// The message.
    public let message: String
    /// The content of the operation.
    public let operationData: UserOperation.SignedData
    /// The requirements for presenting and authorizing it.
    public let flags: Flags
    /// The one-time code that is also signed, if any.
    public let totp: String?
    /// Lines of a newer format, unknown to this version.
    public let additionalLines: [String]
    /// The nonce of the offline signature: 16 bytes in Base64, unchanged.
    public let nonce: String
    /// The server's key that signed.
    public let signingKey: SigningKey

    /// Indicates whether the code has lines unknown to this version.
    public var isNewerFormat: Bool { !self.additionalLines.isEmpty }

    /// The reasons why a person may misunderstand what would be signed; empty if there are none.
    ///
    /// Show ``operationData`` beside title and message: only that is signed.
    public var doubts: [OperationReview.Doubt] {
        OperationReview.doubts(
            title: self.title,
            message: self.message,
            data: self.operationData,
            isNewerFormat: self.isNewerFormat,
            warnsOfFraud: self.flags.fraudWarning
        )
    }

    /// The nonce's 16 bytes.
    package var nonceBytes: [UInt8] { Base64.decode(self.nonce) ?? [] }
    /// The data that an offline signature covers, `operationId&operationData[&totp]`, built from the received bytes.
    package let dataToSign: [UInt8]

    /// One of the server's signing keys.
    public enum SigningKey: UInt8, Sendable, Hashable {
        /// The application's master key, for codes that suit any activation.
        case master = 0x30
        /// The activation's own server key.
        case personalized = 0x31
        /// The key shared by the server and the activation, in version 4 of the protocol.
        case shared = 0x32
    }

    /// The requirements for presenting and authorizing an offline operation.
    public struct Flags: Sendable, Hashable {
        /// The flags unchanged, including those unknown to this version.
        public let text: String

        /// Creates flags from their letters.
        package init(text: String) {
            self.text = text
        }

        /// Indicates whether the biometry key may sign.
        public var isBiometryAllowed: Bool { self.has("B") }
        /// Indicates whether to swap the approve and reject buttons.
        public var flipButtons: Bool { self.has("X") }
        /// Indicates whether to warn of fraud.
        public var fraudWarning: Bool { self.has("F") }
        /// Indicates whether to refuse approval during a phone call.
        public var blockApprovalOnCall: Bool { self.has("C") }

        private func has(_ flag: Unicode.Scalar) -> Bool { self.text.unicodeScalars.contains(flag) }
    }
}

extension OfflineOperation {
    /// Creates an operation, such as for a test or a preview.
    package init(
        id: String,
        title: String,
        message: String,
        operationData: UserOperation.SignedData,
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
}

extension OfflineOperation: CustomStringConvertible {
    /// Only the identifier: the content of a QR code is for the person who decides.
    public var description: String { "<offline operation \(DisplayText.escaped(self.id, limit: 64))>" }
}

extension OfflineOperation: Opaque {}
