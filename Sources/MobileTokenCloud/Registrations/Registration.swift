import APIDescriptions
import Basics
import CloudCalls
public import Foundation

extension CloudClient {
    /// The state of a registration. Words of later servers survive.
    public struct RegistrationStatus: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The server's word.
        public let rawValue: String

        /// Creates a status from the server's word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It waits for its device.
        public static let created = Self(rawValue: "CREATED")
        /// The device has its keys, and it waits for ``CloudClient/commitRegistration(_:externalUserID:otp:)``.
        public static let pendingCommit = Self(rawValue: "PENDING_COMMIT")
        /// The device can decide operations.
        public static let active = Self(rawValue: "ACTIVE")
        /// The device can decide nothing, until it is unblocked.
        public static let blocked = Self(rawValue: "BLOCKED")
        /// The device can never decide anything again.
        public static let removed = Self(rawValue: "REMOVED")

        /// The word, escaped and cut.
        public var description: String { DisplayText.escaped(self.rawValue, limit: 64) }
    }

    /// A registration of a device as the server shows it.
    public struct Registration: Sendable, Identifiable {
        private let wire: CloudRegistration
        /// The state of the registration, such as `ACTIVE`.
        public let status: RegistrationStatus
        /// The user it belongs to.
        public let userID: String
        /// The server's time at which it was created.
        public let created: Date

        /// - Throws: An objection to an answer about another registration, or without what every server shows.
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

        /// The registration's identifier, which is that of the activation.
        public var id: String { self.wire.id }
        /// The application it belongs to.
        public var applicationID: String? { self.wire.applicationID }
        /// The reason of a block.
        public var blockedReason: String? { self.wire.blockedReason }
        /// The name that the user gave the device. Chosen freely, like the next two.
        public var name: String? { self.wire.name }
        /// The platform of the device, such as `ios`.
        public var platform: String? { self.wire.platform }
        /// The model of the device.
        public var deviceInfo: String? { self.wire.deviceInfo }
        /// The flags, such as those that operations can demand.
        public var flags: [String] { self.wire.flags ?? [] }
        /// The server's time at which the keys were last used.
        public var lastUsed: Date? { self.wire.lastUsed.map(Date.init(milliseconds:)) }
        /// The digits that the device shows too, once it has its keys.
        public var fingerprint: String? { self.wire.fingerprint }
    }
}

extension CloudClient.Registration: CustomStringConvertible, CustomReflectable {
    /// Identifier and state.
    public var description: String { "Registration \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
    /// Empty, so that `dump` reveals nothing personal.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
