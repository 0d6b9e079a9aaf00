public import ExactJSON
public import Foundation
public import MobileTokenCloud
public import PowerAuthProtocol

extension Emulator {
    /// An activation as the server sees it.
    public struct ActivationSummary: Sendable, Codable, Hashable, Identifiable {
        /// The activation's identifier; a registration of the cloud API has the same.
        public var id: String
        /// The user whose device it is.
        public var userID: String
        /// The identifier of the application.
        public var applicationID: String
        /// The name that the device gave itself.
        public var name: String?
        /// The state of its registration.
        public var status: CloudClient.RegistrationStatus
        /// The version of the protocol that the activation is of, such as `3.3` or `4.0`.
        public var version: String?
        /// The suite of an activation of version 4, such as `EC_P384`; also while an upgrade waits for its confirmation.
        public var suite: AlgorithmSuite?
        /// The flags in the status of an activation of version 4 beside its state: `AWAITS_CONFIRMATION`,
        /// `UPGRADE_AWAITS_CONFIRMATION`, `SUITE_UNSUPPORTED`, `BIOMETRY_IS_ON`.
        public var flags: [String]
        /// The time when a block ends by itself.
        public var blockExpires: Date?
        /// The eight digits that the device shows too when both sides hold the same keys: to be compared before the
        /// registration is committed. `nil` before keys were exchanged.
        public var fingerprint: String?
        /// The number of moves of the hash counter.
        public var counter: UInt64
        /// The number of failed authentications in a row.
        public var failedAttempts: Int
        /// The number of failed authentications that block.
        public var maximumFailedAttempts: Int
        /// The content of the QR code that activates, `CODE#SIGNATURE`, while it can be used.
        public var activationQRCode: String?
        /// The time when the registration was made.
        public var created: Date
        /// The platform of its push messages: `apns`, `fcm` or `hms`, as the device registered.
        public var pushPlatform: String?
        /// The token that the device registered for push messages.
        public var pushToken: String?
    }

    /// An operation as the server sees it.
    public struct OperationSummary: Sendable, Codable, Hashable, Identifiable {
        /// The operation's identifier.
        public var id: String
        /// The user who is to decide; `nil` until a user claims it.
        public var userID: String?
        /// The template's name.
        public var name: String
        /// The title that the user is shown.
        public var title: String
        /// The form as the user sees it, in English, with amounts written out; `nil` when the operation's template is gone.
        public var formData: JSONValue?
        /// The data that is signed.
        public var data: String
        /// The state of the operation.
        public var status: CloudClient.OperationStatus
        /// The reason that the bank gave for its cancellation.
        public var statusReason: String?
        /// The reason that the user's device gave for its rejection.
        public var rejectReason: String?
        /// The number of failed approvals.
        public var failureCount: Int
        /// The number of failed approvals that make it fail.
        public var maximumFailureCount: Int
        /// The time when it was made.
        public var created: Date
        /// The time when it can no longer be decided.
        public var expires: Date
        /// The one-time code of this moment, while an operation with a proximity check waits for a decision.
        public var proximityCode: String?
    }

    /// Something an operation can be made from.
    public struct TemplateSummary: Sendable, Codable, Hashable {
        /// The name to create an operation with.
        public var name: String
        /// The title, its placeholders unfilled.
        public var title: String
        /// The names of the placeholders, in their order.
        public var parameters: [String]
        /// The values of the placeholders that a request leaves out.
        public var defaults: [String: String]
        /// The seconds for which an operation can be decided, unless a request says otherwise.
        public var lifetime: TimeInterval?
        /// Indicates whether operations ask for a proximity check, unless a request says otherwise.
        public var demandsProximityCheck: Bool
    }

    /// A message in a user's inbox.
    public struct MessageSummary: Sendable, Codable, Hashable, Identifiable {
        /// The message's identifier.
        public var id: String
        /// The user whose inbox it is in.
        public var userID: String
        /// `text` or `html`.
        public var type: String
        /// The line that a list shows first.
        public var subject: String
        /// The line that a list shows below.
        public var summary: String
        /// The whole message.
        public var body: String
        /// Indicates whether a client has marked it as read.
        public var isRead: Bool
        /// The time when it was made.
        public var created: Date
    }
}
