import CloudCalls

extension CloudClient {
    /// The server's verdict on a code or a token of a device. What it does not tell is `nil`.
    public struct Verdict: Sendable, CustomStringConvertible {
        /// Indicates whether the code or the token is right, and its registration active.
        public let isValid: Bool
        /// The user of the registration.
        public let userID: String?
        /// The identifier of the registration.
        public let registrationID: String?
        /// The state of the registration.
        public let registrationStatus: RegistrationStatus?
        /// The factors of the code, such as `POSSESSION_KNOWLEDGE`.
        public let factors: String?
        /// The number of wrong codes that are left before the registration is blocked.
        public let remainingAttempts: Int?
        /// The flags of the registration.
        public let flags: [String]
        /// The application of the registration.
        public let applicationID: String?

        init(_ wire: CloudAPI.OfflineVerdict) {
            self.isValid = wire.isValid
            self.userID = wire.userID
            self.registrationID = wire.registrationID
            self.registrationStatus = RegistrationStatus(rawValue: wire.registrationStatus)
            self.factors = wire.signatureType
            self.remainingAttempts = wire.remainingAttempts
            self.flags = wire.flags
            self.applicationID = wire.application.id
        }

        init(_ wire: CloudAPI.CodeVerdict) {
            self.isValid = wire.isValid
            self.userID = wire.identity?.userID
            self.registrationID = wire.registrationID
            self.registrationStatus = RegistrationStatus(rawValue: wire.registrationStatus)
            self.factors = wire.identity?.signatureType
            self.remainingAttempts = wire.remainingAttempts
            self.flags = wire.identity?.flags ?? []
            self.applicationID = wire.identity?.application?.id
        }

        init(_ wire: CloudAPI.TokenVerdict) {
            self.isValid = wire.isValid
            self.userID = wire.identity?.userID
            self.registrationID = wire.registrationID
            self.registrationStatus = wire.registrationStatus.map(RegistrationStatus.init(rawValue:))
            self.factors = wire.identity?.signatureType
            self.remainingAttempts = nil
            self.flags = wire.identity?.flags ?? []
            self.applicationID = wire.identity?.application?.id
        }

        /// The verdict alone.
        public var description: String { self.isValid ? "valid" : "not valid" }
    }
}
