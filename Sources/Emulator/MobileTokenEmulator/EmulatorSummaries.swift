public import ExactJSON
public import Foundation
public import MobileTokenCloud
public import PowerAuthProtocol

extension Emulator {
    /// An activation in the server.
    public struct ActivationSummary: Sendable, Codable, Hashable, Identifiable {
        /// The activation's identifier, the same as its registration's in the cloud API.
        public var id: String
        /// The user of the device.
        public var userID: String
        /// The identifier of the application.
        public var applicationID: String
        /// The device's own name.
        public var name: String?
        /// The state of its registration.
        public var status: CloudClient.RegistrationStatus
        /// The protocol version of the activation, such as `3.3` or `4.0`.
        public var version: String?
        /// The suite of a version 4 activation, such as `EC_P384`; also while an upgrade waits for its confirmation.
        public var suite: AlgorithmSuite?
        /// The status flags of a version 4 activation besides its state: `AWAITS_CONFIRMATION`, `UPGRADE_AWAITS_CONFIRMATION`,
        /// `SUITE_UNSUPPORTED`, `BIOMETRY_IS_ON`.
        public var flags: [String]
        /// The time when a temporary block ends.
        public var blockExpires: Date?
        /// The eight digits that the device shows if both sides have the same keys, to compare before committing the
        /// registration. `nil` before the key exchange.
        public var fingerprint: String?
        /// The number of hash counter steps.
        public var counter: UInt64
        /// The number of consecutive failed authentications.
        public var failedAttempts: Int
        /// The number of failed authentications that blocks the activation.
        public var maximumFailedAttempts: Int
        /// The activation's QR code content, `CODE#SIGNATURE`, while it is usable.
        public var activationQRCode: String?
        /// The time of the registration.
        public var created: Date
        /// The registered push platform: `apns`, `fcm` or `hms`.
        public var pushPlatform: String?
        /// The registered push token.
        public var pushToken: String?
    }

    /// An operation in the server.
    public struct OperationSummary: Sendable, Codable, Hashable, Identifiable {
        /// The operation's identifier.
        public var id: String
        /// The user who decides; `nil` until a user claims it.
        public var userID: String?
        /// The template's name.
        public var name: String
        /// The title shown to the user.
        public var title: String
        /// The form shown to the user, in English, with formatted amounts; `nil` if the operation's template is gone.
        public var formData: JSONValue?
        /// The data to sign.
        public var data: String
        /// The state of the operation.
        public var status: CloudClient.OperationStatus
        /// The bank's reason for its cancellation.
        public var statusReason: String?
        /// The device's reason for its rejection.
        public var rejectReason: String?
        /// The number of failed approvals.
        public var failureCount: Int
        /// The number of failed approvals that makes it fail.
        public var maximumFailureCount: Int
        /// The time of creation.
        public var created: Date
        /// The deadline for a decision.
        public var expires: Date
        /// The current one-time code, while an operation with a proximity check is pending.
        public var proximityCode: String?
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
    public struct MessageSummary: Sendable, Codable, Hashable, Identifiable {
        /// The message's identifier.
        public var id: String
        /// The user of the inbox.
        public var userID: String
        /// `text` or `html`.
        public var type: String
        /// The first line in a list.
        public var subject: String
        /// The second line in a list.
        public var summary: String
        /// The full message.
        public var body: String
        /// Indicates whether a client has marked it as read.
        public var isRead: Bool
        /// The time of creation.
        public var created: Date
    }
}
