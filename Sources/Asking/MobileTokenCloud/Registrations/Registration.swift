package import APIDescriptions
import Basics
public import Foundation

extension CloudClient {
    /// The state of a registration. Unknown values of later servers are kept.
    public struct RegistrationStatus: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The server's value.
        public let rawValue: String

        /// Creates a status from the server's value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The registration awaits its device.
        public static let created = Self(rawValue: "CREATED")
        /// Keys were exchanged. The registration awaits ``CloudClient/commitRegistration(_:externalUserID:otp:)``.
        public static let pendingCommit = Self(rawValue: "PENDING_COMMIT")
        /// The device can decide operations.
        public static let active = Self(rawValue: "ACTIVE")
        /// The device is blocked from deciding.
        public static let blocked = Self(rawValue: "BLOCKED")
        /// The registration was removed permanently.
        public static let removed = Self(rawValue: "REMOVED")

        /// The value, escaped and truncated.
        public var description: String { DisplayText.escaped(self.rawValue, limit: 64) }
    }

    /// A device's registration at the server.
    public struct Registration: Sendable, Hashable, Identifiable {
        /// The identifier of the registration and of its activation.
        public let id: String
        /// Optional in the response to a creation, like the user and the time.
        package var givenStatus: RegistrationStatus?
        package var repeatedStatus: RegistrationStatus?
        package var givenUserID: String?
        /// The registration's application.
        public package(set) var applicationID: String?
        package var appID: String?
        package var givenFlags: [String]?
        package var failedAttempts: Int?
        package var maximumFailedAttempts: Int?
        /// Since 1970, like all times.
        package var createdMilliseconds: Int64?
        package var lastUsedMilliseconds: Int64?
        package var activationCode: String?
        package var activationCodeSignature: String?
        package var activationQRCode: String?
        package var expiresMilliseconds: Int64?
        /// The device's name, chosen by the user. Not verified, like the next two.
        public package(set) var name: String?
        /// The platform of the device, such as `ios`.
        public package(set) var platform: String?
        /// The model of the device.
        public package(set) var deviceInfo: String?
        package var externalUserID: String?
        package var protocolVersion: String?
        package var algorithm: String?
        /// The digits that the device displays too; present after the key exchange.
        public package(set) var fingerprint: String?
        /// The reason of a block.
        public package(set) var blockedReason: String?
        package var blockExpiresMilliseconds: Int64?
        package var push: PushTarget?

        /// The state of the registration, such as `ACTIVE`.
        public var status: RegistrationStatus { self.givenStatus ?? RegistrationStatus(rawValue: "") }
        /// The registration's user.
        public var userID: String { self.givenUserID ?? "" }
        /// The server's time of creation.
        public var created: Date { Date(milliseconds: self.createdMilliseconds ?? 0) }
        /// The flags. Operations may require one.
        public var flags: [String] { self.givenFlags ?? [] }
        /// The server's time of the keys' last use.
        public var lastUsed: Date? { self.lastUsedMilliseconds.map(Date.init(milliseconds:)) }
    }
}

extension CloudClient.Registration: Described {
    package static let fields = FieldTable(
        "Registration",
        Self.init,
        .required("registrationId", \.id, .string, "Also the identifier of the activation."),
        .promised("registrationStatus", \.givenStatus, .registrationStatus),
        .promised("status", \.repeatedStatus, .registrationStatus, "The same once more.").ours,
        .promised("userId", \.givenUserID, .string),
        .promised("applicationId", \.applicationID, .string),
        .promised("appId", \.appID, .string, "The same as applicationId.").ours,
        .promised("flags", \.givenFlags, .list(of: .string)),
        .promised("failedAttempts", \.failedAttempts, .count).ours,
        .promised("maxFailedAttempts", \.maximumFailedAttempts, .count).ours,
        .promised("timestampCreated", \.createdMilliseconds, .timestamp),
        .promised(
            "timestampLastUsed",
            \.lastUsedMilliseconds,
            .timestamp,
            "The time of the last use of its keys; at first, of its creation."
        ),
        .optional("activationCode", \.activationCode, .string, "The code that the user types in."),
        .optional("activationCodeSignature", \.activationCodeSignature, .base64),
        .optional("activationQrCodeData", \.activationQRCode, .string, "The content of the QR code, CODE#SIGNATURE."),
        .optional(
            "timestampExpires",
            \.expiresMilliseconds,
            .timestamp,
            "The time until which the code can, or could, be used."
        )
        .ours,
        .optional("name", \.name, .string),
        .optional("platform", \.platform, .string),
        .optional("deviceInfo", \.deviceInfo, .string),
        .optional("externalUserId", \.externalUserID, .string).ours,
        .optional("protocolVersion", \.protocolVersion, .string).ours,
        .optional("algorithm", \.algorithm, .string).ours,
        .optional("activationFingerprint", \.fingerprint, .string, "Eight digits that the device shows too."),
        .optional("blockedReason", \.blockedReason, .string),
        .optional(
            "timestampBlockExpire",
            \.blockExpiresMilliseconds,
            .timestamp,
            "The time at which a block ends by itself."
        ).ours,
        .optional("push", \.push, .described).ours
    )

    /// The requested registrations.
    package static let list = FieldTable<[Self]>(
        "Registrations",
        .required("registrations", \.self, .list(of: .described))
    )
    .form

    /// Creates a registration with only the members that every server sends.
    package init(id: String, status: CloudClient.RegistrationStatus, userID: String, created: Int64) {
        (self.id, self.givenStatus, self.givenUserID, self.createdMilliseconds) = (id, status, userID, created)
    }

    /// - Throws: An objection to a response about another registration or without required members.
    func of(_ id: String) throws(Schema.Objection) -> Self {
        try self.id.mustBe(id, "registrationId")
        let required: KeyValuePairs = [
            "registrationStatus": self.givenStatus != nil, "userId": self.givenUserID != nil,
            "timestampCreated": self.createdMilliseconds != nil,
        ]
        for (member, isGiven) in required where !isGiven {
            throw Schema.Objection(member: member, hint: "is missing")
        }
        return self
    }

    /// The push address of a device.
    package struct PushTarget: Described, Hashable {
        package var platform: String
        package var token: String
        package var environment: String?
        package var registered: Int64

        package static let fields = FieldTable(
            "PushDevice",
            Self.init(platform:token:environment:registered:),
            .required("platform", \.platform, .string),
            .required("token", \.token, .string),
            .optional("environment", \.environment, .string),
            .required("timestampRegistered", \.registered, .timestamp)
        )

        package init(platform: String, token: String, environment: String?, registered: Int64) {
            (self.platform, self.token, self.environment, self.registered) = (platform, token, environment, registered)
        }
    }
}

extension CloudClient.Registration: CustomStringConvertible {
    /// Identifier and state.
    public var description: String { "Registration \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
}
