import CloudCalls

extension CloudClient {
    /// The server's verdict on a device's code or token. Unreported values are `nil`.
    public struct Verdict: Sendable, CustomStringConvertible {
        /// Indicates a valid code or token of an active registration.
        public let isValid: Bool
        /// The user of the registration.
        public let userID: String?
        /// The identifier of the registration.
        public let registrationID: String?
        /// The state of the registration.
        public let registrationStatus: RegistrationStatus?
        /// The factors of the code, such as `POSSESSION_KNOWLEDGE`.
        public let factors: String?
        /// The number of wrong codes left before the registration is blocked.
        public let remainingAttempts: Int?
        /// The flags of the registration.
        public let flags: [String]
        /// The application of the registration.
        public let applicationID: String?

        init(_ wire: CloudAPI.Verdict) {
            (self.isValid, self.userID, self.registrationID) = (wire.isValid, wire.userID, wire.registrationID)
            self.registrationStatus = wire.registrationStatus.map(RegistrationStatus.init(rawValue:))
            (self.factors, self.remainingAttempts) = (wire.signatureType, wire.remainingAttempts)
            (self.flags, self.applicationID) = (wire.flags ?? [], wire.application?.id)
        }

        /// The verdict only.
        public var description: String { self.isValid ? "valid" : "not valid" }
    }
}
