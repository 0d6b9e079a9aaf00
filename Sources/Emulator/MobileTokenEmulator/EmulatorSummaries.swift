import APIDescriptions
import EmulatorBackend
public import ExactJSON
public import Foundation
public import MobileTokenCloud
import PowerAuthProtocol

extension Emulator {
    /// An activation in the server: its registration in the cloud API, and what the bank does not see.
    public struct ActivationSummary: Sendable, Hashable, Identifiable {
        let registration: CloudClient.Registration
        let inner: Inner

        struct Inner: Described, Hashable {
            var counter: UInt64
            var statusFlags: [String]
        }

        /// The activation's identifier, the same as its registration's in the cloud API.
        public var id: String { self.registration.id }
        /// The user of the device.
        public var userID: String { self.registration.userID }
        /// The identifier of the application.
        public var applicationID: String { self.registration.applicationID ?? "" }
        /// The device's own name.
        public var name: String? { self.registration.name }
        /// The state of its registration.
        public var status: CloudClient.RegistrationStatus { self.registration.status }
        /// The protocol version of the activation, such as `3.3` or `4.0`.
        public var version: String? { self.registration.protocolVersion }
        /// The suite of a version 4 activation, such as `EC_P384`; also while an upgrade waits for its confirmation.
        public var suite: AlgorithmSuite? { self.registration.algorithm.flatMap(AlgorithmSuite.init(rawValue:)) }
        /// The flags of the registration.
        public var flags: [String] { self.registration.flags }
        /// The status flags of a version 4 activation besides its state: `AWAITS_CONFIRMATION`, `UPGRADE_AWAITS_CONFIRMATION`,
        /// `SUITE_UNSUPPORTED`, `BIOMETRY_IS_ON`.
        public var statusFlags: [String] { self.inner.statusFlags }
        /// The time when a temporary block ends.
        public var blockExpires: Date? { self.registration.blockExpiresMilliseconds.map(Date.init(milliseconds:)) }
        /// The eight digits that the device shows if both sides have the same keys, to compare before committing the
        /// registration. `nil` before the key exchange.
        public var fingerprint: String? { self.registration.fingerprint }
        /// The number of hash counter steps.
        public var counter: UInt64 { self.inner.counter }
        /// The number of consecutive failed authentications.
        public var failedAttempts: Int { self.registration.failedAttempts ?? 0 }
        /// The number of failed authentications that blocks the activation.
        public var maximumFailedAttempts: Int { self.registration.maximumFailedAttempts ?? 0 }
        /// The activation's QR code content, `CODE#SIGNATURE`, while it is usable.
        public var activationQRCode: String? { self.registration.activationQRCode }
        /// The time of the registration.
        public var created: Date { self.registration.created }
        /// The registered push platform: `apns`, `fcm` or `hms`.
        public var pushPlatform: String? { self.registration.push?.platform }
        /// The registered push token.
        public var pushToken: String? { self.registration.push?.token }
    }

    /// An operation in the server: as the cloud API shows it, and as its user is shown it.
    @dynamicMemberLookup
    public struct OperationSummary: Sendable, Hashable, Identifiable {
        let operation: CloudClient.Operation
        let shown: Shown

        struct Shown: Described, Hashable {
            var title: String
            var formData: JSONValue?
            var rejectReason: String?
        }

        /// The operation's identifier.
        public var id: String { self.operation.id }
        /// The template's name.
        public var name: String { self.operation.operationType }
        /// The title shown to the user.
        public var title: String { self.shown.title }
        /// The form shown to the user, in English, with formatted amounts; `nil` if the operation's template is gone.
        public var formData: JSONValue? { self.shown.formData }
        /// The data to sign.
        public var data: String { self.operation.data ?? "" }
        /// The device's reason for its rejection.
        public var rejectReason: String? { self.shown.rejectReason }

        /// A member of the operation in the cloud API, such as `status`.
        public subscript<Value>(dynamicMember member: KeyPath<CloudClient.Operation, Value>) -> Value {
            self.operation[keyPath: member]
        }
    }

    /// A template for operations.
    public struct TemplateSummary: Sendable, Codable, Hashable {
        /// The name to create an operation with.
        public var name: String
        /// The title with unfilled placeholders.
        public var title: String
        /// The names of the placeholders, in order.
        public var parameters: [String]
        /// The default values of the placeholders.
        public var defaults: [String: String]
        /// The default time to decide an operation, in seconds.
        public var lifetime: TimeInterval?
        /// Indicates whether operations require a proximity check by default.
        public var demandsProximityCheck: Bool
    }

    /// A message in a user's inbox.
    public struct MessageSummary: Sendable, Hashable, Identifiable {
        let message: CloudClient.Message
        let owner: Owner

        struct Owner: Described, Hashable {
            var userID: String
            /// The user once more and, below, `read`: the program that replays recordings reads them by these names.
            var replayed: String
            var isRead: Bool
        }

        /// The message's identifier.
        public var id: String { self.message.id }
        /// The user of the inbox.
        public var userID: String { self.owner.userID }
        /// `text` or `html`.
        public var type: String { self.message.format }
        /// The first line in a list.
        public var subject: String { self.message.subject }
        /// The second line in a list.
        public var summary: String { self.message.summary }
        /// The full message.
        public var body: String { self.message.body }
        /// Indicates whether a client has marked it as read.
        public var isRead: Bool { self.message.isRead }
        /// The time of creation.
        public var created: Date { self.message.created }
    }
}

// Activations have codes and push tokens, operations one-time codes. Texts and mirrors show none of them.

extension Emulator: Opaque {}
extension EmulatorCore: Opaque {}
extension Emulator.SpaceOrigin: Opaque {}
extension Emulator.Callback.Authentication: Opaque {}

extension Emulator.ActivationSummary: CustomStringConvertible, Opaque {
    /// Identifier and state.
    public var description: String { "Activation \(self.id) \(self.status)" }
}

extension Emulator.OperationSummary: CustomStringConvertible, Opaque {
    /// Identifier and state.
    public var description: String { self.operation.description }
}

extension Emulator.PushSummary: CustomStringConvertible, Opaque {
    /// Number and subject.
    public var description: String { "Push message \(self.id) \(self.type)" }
}
