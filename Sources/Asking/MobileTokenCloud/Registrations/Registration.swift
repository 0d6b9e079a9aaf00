import APIDescriptions
import Basics
import CloudCalls
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
    public struct Registration: Sendable, Identifiable {
        private let wire: CloudRegistration
        /// The state of the registration, such as `ACTIVE`.
        public let status: RegistrationStatus
        /// The registration's user.
        public let userID: String
        /// The server's time of creation.
        public let created: Date

        /// - Throws: An objection to a response about another registration or without required members.
        init(_ wire: CloudRegistration, expecting id: String) throws(Schema.Objection) {
            guard wire.id.isExactly(id) else {
                throw Schema.Objection(member: "registrationId", hint: "is another one")
            }
            func given<Value>(_ value: Value?, _ member: String) throws(Schema.Objection) -> Value {
                guard let value else { throw Schema.Objection(member: member, hint: "is missing") }
                return value
            }
            self.status = RegistrationStatus(rawValue: try given(wire.registrationStatus, "registrationStatus"))
            self.userID = try given(wire.userID, "userId")
            self.created = Date(milliseconds: try given(wire.created, "timestampCreated"))
            self.wire = wire
        }

        /// The identifier of the registration and of its activation.
        public var id: String { self.wire.id }
        /// The registration's application.
        public var applicationID: String? { self.wire.applicationID }
        /// The reason of a block.
        public var blockedReason: String? { self.wire.blockedReason }
        /// The device's name, chosen by the user. Not verified, like the next two.
        public var name: String? { self.wire.name }
        /// The platform of the device, such as `ios`.
        public var platform: String? { self.wire.platform }
        /// The model of the device.
        public var deviceInfo: String? { self.wire.deviceInfo }
        /// The flags. Operations may require one.
        public var flags: [String] { self.wire.flags ?? [] }
        /// The server's time of the keys' last use.
        public var lastUsed: Date? { self.wire.lastUsed.map(Date.init(milliseconds:)) }
        /// The digits that the device displays too; present after the key exchange.
        public var fingerprint: String? { self.wire.fingerprint }
    }
}

extension CloudClient.Registration: CustomStringConvertible {
    /// Identifier and state.
    public var description: String { "Registration \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
}
