import APIDescriptions

extension CloudClient {
    /// The server's verdict on a device's code or token. Unreported values are `nil`.
    public struct Verdict: Sendable, CustomStringConvertible {
        /// Indicates a valid code or token of an active registration.
        public package(set) var isValid: Bool
        /// The user of the registration.
        public package(set) var userID: String?
        /// The identifier of the registration.
        public package(set) var registrationID: String?
        /// The state of the registration.
        public package(set) var registrationStatus: RegistrationStatus?
        /// The factors of the code, such as `POSSESSION_KNOWLEDGE`.
        public package(set) var factors: String?
        /// The number of wrong codes left before the registration is blocked.
        public package(set) var remainingAttempts: Int?
        package var givenFlags: [String]?
        package var application: CloudAPI.VerifiedApplication?

        /// The flags of the registration.
        public var flags: [String] { self.givenFlags ?? [] }
        /// The application of the registration.
        public var applicationID: String? { self.application?.id }

        /// The verdict only.
        public var description: String { self.isValid ? "valid" : "not valid" }
    }
}

extension CloudClient.Verdict {
    /// Creates the verdict on one that was not verified.
    package init(isValid: Bool, registrationID: String?, registrationStatus: CloudClient.RegistrationStatus?) {
        (self.isValid, self.registrationID, self.registrationStatus) = (isValid, registrationID, registrationStatus)
    }

    static let ofOfflineCode = FieldTable(
        "OfflineVerdict",
        Self.init,
        .required("otpValid", \.isValid, .boolean),
        .demanded("userId", \.userID, .string),
        .demanded("registrationId", \.registrationID, .string),
        .demanded("registrationStatus", \.registrationStatus, .registrationStatus),
        .demanded("signatureType", \.factors, .string),
        .demanded("remainingAttempts", \.remainingAttempts, .count),
        .demanded("flags", \.givenFlags, .list(of: .string)),
        .demanded("application", \.application, .described)
    )

    static let ofCode = FieldTable(
        "CodeVerdict",
        Self.init,
        .required("signatureValid", \.isValid, .boolean),
        .optional("userId", \.userID, .string),
        .demanded("registrationId", \.registrationID, .string),
        .demanded("registrationStatus", \.registrationStatus, .registrationStatus),
        .optional("signatureType", \.factors, .string),
        .optional("remainingAttempts", \.remainingAttempts, .count),
        .optional("flags", \.givenFlags, .list(of: .string)),
        .optional("application", \.application, .described)
    )

    static let ofToken = FieldTable(
        "TokenVerdict",
        {
            Self(
                isValid: $0,
                userID: $1,
                registrationID: $2,
                registrationStatus: $3,
                factors: $4,
                givenFlags: $5,
                application: $6
            )
        },
        .required("tokenValid", \.isValid, .boolean),
        .optional("userId", \.userID, .string),
        .optional("registrationId", \.registrationID, .string),
        .optional("registrationStatus", \.registrationStatus, .registrationStatus),
        .optional("signatureType", \.factors, .string),
        .optional("flags", \.givenFlags, .list(of: .string)),
        .optional("application", \.application, .described)
    )
}
