package import EmulatorMessages

// What the cloud API takes and gives.

extension RouteDescription.Parameter {
    static let userID = Self("userId", .string, "Lists those of this user only.")
    static let registrationID = Self("registrationId", .string, "The registration whose device the code is for.")
    static let statusReason = Self("statusReason", .string, "Why the operation is canceled.")
    static let protocolVersion = Self(
        "protocolVersion",
        .oneOf(MajorVersion.names),
        "The version whose master key signs, where no registration is named."
    ).ours
    static let removed = Self("removed", .boolean, "Whether to list removed ones too; not by default.")
    static let incompleteStatusCheck = Self(
        "incompleteStatusCheck",
        .boolean,
        "Whether to refuse while another registration of the user waits for its device or its commit; not by default."
    )
}

// MARK: - Registrations

extension Schema {
    package static let newRegistration = Self.tolerant(
        "NewRegistration",
        [
            .required("userId", .word, "Whose device it will be."),
            .optional("appId", .string, "The application; the server's own if left out."),
            .optional("flags", .strings),
            .optional("otp", .string, "A code that the user must know beside the activation code."),
            .optional("activationOtp", .string, "Another name of otp.").ours,
            .optional("otpValidation", .oneOf(ActivationOTP.validations), "When the code is checked."),
            .optional(
                "activationOtpValidation",
                .oneOf(ActivationOTP.validations),
                "Another name of otpValidation."
            ).ours,
            .optional(
                "commitPhase",
                .oneOf(ServerActivation.CommitPhase.self),
                "Whether the server side commits the registration, or the exchange of keys does."
            ),
            .optional("timestampRegistrationExpire", .timestamp, "Until when the activation code can be used."),
            .optional("protocolVersion", .oneOf(MajorVersion.names), "The version whose master key signs the QR code.")
                .ours,
        ]
    )

    static let registrationCommit = Self.tolerant(
        "RegistrationCommit",
        [
            .optional("externalUserId", .string),
            .optional("otp", .string, "The code, where it is asked for at the commit."),
            .optional("activationOtp", .string, "Another name of otp.").ours,
        ]
    )

    static let registrationChange = Self.tolerant(
        "RegistrationChange",
        [.required("change", .oneOf(["BLOCK", "UNBLOCK"]))]
    )

    static let changedRegistration = Self.object(
        "ChangedRegistration",
        [
            .required("status", .oneOf(["OK"])), .required("registrationId", .string),
            .required("registrationStatus", .oneOf(ServerActivation.Status.self)),
        ]
    )

    static let flags = Self.object("Flags", [.optional("flags", .strings)])

    static let registrationFlags = Self.object(
        "RegistrationFlags",
        [.required("registrationId", .string), .required("flags", .strings)]
    )

    package static let registration = Self.object(
        "Registration",
        [
            .required("registrationId", .string, "Also the identifier of the activation."),
            .required("registrationStatus", .oneOf(ServerActivation.Status.self)),
            .required("status", .oneOf(ServerActivation.Status.self), "The same once more.").ours,
            .required("userId", .string), .required("applicationId", .string),
            .required("appId", .string, "The same as applicationId.").ours, .required("flags", .strings),
            .required("failedAttempts", .count).ours, .required("maxFailedAttempts", .count).ours,
            .required("timestampCreated", .timestamp),
            .required("timestampLastUsed", .timestamp, "When its keys were last used; at first, when it was created."),
            .optional("activationCode", .string, "What the user types in."),
            .optional("activationCodeSignature", .base64),
            .optional("activationQrCodeData", .string, "The content of the QR code, CODE#SIGNATURE."),
            .optional("timestampExpires", .timestamp, "Until when the code can be used.").ours,
            .optional("name", .string), .optional("platform", .string), .optional("deviceInfo", .string),
            .optional("externalUserId", .string), .optional("protocolVersion", .string).ours,
            .optional("algorithm", .string).ours,
            .optional("activationFingerprint", .string, "Eight digits that the device shows too."),
            .optional("blockedReason", .string),
            .optional("timestampBlockExpire", .timestamp, "When a block ends by itself.").ours,
            .optional("push", .pushDevice).ours,
        ]
    )

    private static let pushDevice = Self.object(
        "PushDevice",
        [
            .required("platform", .string), .required("token", .string), .optional("environment", .string),
            .required("timestampRegistered", .timestamp),
        ]
    )

    static let registrations = Self.object("Registrations", [.required("registrations", .list(of: .registration))])
}

// MARK: - Operations

extension Schema {
    package static let newOperation = Self.tolerant(
        "NewOperation",
        [
            .optional("userId", .string, "Who is to decide; without one, the first who claims the operation."),
            .optional("appId", .string, "The application; the server's own if left out."),
            .optional("registrationId", .string, "The only registration of the user that may decide."),
            .optional("template", .string, "What the operation is made from; see /_emulator/templates."),
            .optional(
                "parameters",
                .open(),
                "Values for the placeholders; those left out have examples, and those that the template does not have are refused."
            ),
            .optional("language", .string, "The language of what is pushed, such as cs."),
            .optional("operationType", .string, "Without a template: the name that the device sees."),
            .optional("name", .string, "Another name of operationType.").ours,
            .optional("data", .string, "Without a template: what is signed.").ours,
            .optional(
                "formData",
                .open([.required("title", .word), .required("message", .word)]),
                "Without a template: what the user is shown."
            ).ours,
            .optional("ui", .open(), "Without a template: how it is shown.").ours,
            .optional("allowedSignatureType", .allowedSignature).ours,
            .optional("timestampExpires", .timestamp, "Until when it can be decided."),
            .optional("expiresIn", .integer(1...31_536_000), "For how many seconds it can be decided.").ours,
            .optional("maxFailureCount", .integer(1...255)).ours,
            .optional("proximityCheckEnabled", .boolean),
            .optional("flag", .string, "Only activations with this flag see and decide it."),
            .optional("activationFlag", .string, "Another name of flag.").ours,
            .optional("silent", .boolean, "Whether nothing is pushed of it; not by default."),
            .optional("externalId", .string),
            .optional("callbackUrl", .string, "Where to tell of this operation, beside the callbacks that there are.")
                .ours,
        ]
    )

    static let allowedSignature = Self.object(
        "AllowedSignatureType",
        [
            .required("type", .oneOf(AllowedSignature.Kind.self)),
            .required("variants", .strings, "Sets of factors, such as possession_knowledge."),
        ]
    )

    package static let operation = Self.object(
        "Operation",
        [
            .required("operationId", .string), .optional("userId", .string), .required("appId", .string).ours,
            .optional("registrationId", .string), .optional("externalId", .string),
            .optional("callbackUrl", .string).ours,
            .required("status", .oneOf(ServerOperation.Status.self)), .optional("statusReason", .string),
            .required("operationType", .string), .optional("template", .string), .required("data", .string).ours,
            .optional("language", .string).ours, .optional("flag", .string).ours, .optional("silent", .boolean).ours,
            .required("parameters", .open()), .required("failureCount", .count), .required("maxFailureCount", .count),
            .required("timestampCreated", .timestamp), .required("timestampExpires", .timestamp),
            .optional("timestampFinalized", .timestamp),
            .optional("proximityOtp", .string, "The one-time code of this moment."),
            .optional("additionalData", .open(), "What the device sent with its decision."),
        ]
    )

    static let operations = Self.object("Operations", [.required("operations", .list(of: .operation))])

    static let offlineQRCode = Self.object(
        "OfflineQrCode",
        [.required("operationQrCodeData", .string), .required("nonce", .base64, "To verify the code with.")]
    )

    static let offlineCode = Self.tolerant(
        "OfflineCode",
        [
            .required("otp", .word, "What the device shows."), .required("nonce", .word, "That of the QR code."),
            .required("registrationId", .word),
        ]
    )

    static let offlineVerdict = Self.object(
        "OfflineVerdict",
        [
            .required("otpValid", .boolean), .required("userId", .string), .required("registrationId", .string),
            .required("registrationStatus", .oneOf(ServerActivation.Status.self)), .required("signatureType", .string),
            .required("remainingAttempts", .count), .required("flags", .strings),
            .required("application", .verifiedApplication),
        ]
    )
}
