internal import Basics
internal import PowerAuthProtocol

/// An operation from a QR code, whose server signature was verified.
///
/// There is no other way to one than ``UnverifiedOfflineOperation/verified(by:)``, so what a person is shown comes from the
/// server.
public struct OfflineOperation: Sendable, Hashable, Identifiable {
    /// The operation's identifier.
    public let id: String
    /// The title.
    public let title: String
    /// The message.
    public let message: String
    /// What the operation is about.
    public let operationData: OfflineOperationData
    /// How it is to be presented and authorized.
    public let flags: Flags
    /// The one-time code that is signed along, where there is one.
    public let totp: String?
    /// Lines of a newer format, which this version does not know.
    public let additionalLines: [String]
    /// The nonce of the offline signature: 16 bytes in Base64, as it came.
    public let nonce: String
    /// Which of the server's keys signed.
    public let signingKey: SigningKey

    /// Whether the code has lines that this version does not know.
    public var isNewerFormat: Bool { !self.additionalLines.isEmpty }

    /// The nonce's 16 bytes.
    package let nonceBytes: [UInt8]
    /// What an offline signature covers, `operationId&operationData[&totp]`, made of the bytes received.
    package let dataToSign: [UInt8]

    /// One of the server's signing keys.
    public enum SigningKey: UInt8, Sendable, Hashable {
        /// The application's master key, for codes that fit any activation.
        case master = 0x30
        /// The activation's own server key.
        case personalized = 0x31
    }

    /// How an offline operation is to be presented and authorized.
    public struct Flags: Sendable, Hashable {
        /// The flags as they came, those that this version does not know included.
        public let text: String

        /// Whether the biometry key may sign.
        public var isBiometryAllowed: Bool { self.has("B") }
        /// Whether to swap the buttons that approve and reject.
        public var flipButtons: Bool { self.has("X") }
        /// Whether to warn of fraud.
        public var fraudWarning: Bool { self.has("F") }
        /// Whether to refuse approval while the person is on the phone.
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
