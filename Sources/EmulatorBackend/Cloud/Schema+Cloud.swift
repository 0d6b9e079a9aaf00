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
    )
}

// MARK: - Registrations

extension Schema {
    package static let newRegistration = Self.object(
        "NewRegistration",
        [
            .required("userId", .word, "Whose device it will be."),
            .optional("appId", .string, "The application; the server's own if left out."),
            .optional("flags", .strings),
            .optional("activationOtp", .string, "A code that the user must know beside the activation code."),
            .optional("otp", .string, "Another name of activationOtp."),
            .optional("activationOtpValidation", .oneOf(ActivationOTP.validations), "When the code is checked."),
            .optional("otpValidation", .oneOf(ActivationOTP.validations), "Another name of activationOtpValidation."),
            .optional(
                "commitPhase",
                .oneOf(ServerActivation.CommitPhase.self),
                "Whether the server side commits the registration, or the exchange of keys does."
            ),
            .optional("protocolVersion", .oneOf(MajorVersion.names), "The version whose master key signs the QR code."),
        ]
    )

    static let registrationCommit = Self.object(
        "RegistrationCommit",
        [
            .optional("externalUserId", .string),
            .optional("activationOtp", .string), .optional("otp", .string, "Another name of activationOtp."),
        ]
    )

    static let registrationChange = Self.object(
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
            .required("status", .oneOf(ServerActivation.Status.self), "The same once more."),
            .required("userId", .string), .required("appId", .string), .required("flags", .strings),
            .required("failedAttempts", .count), .required("maxFailedAttempts", .count),
            .required("timestampCreated", .timestamp),
            .optional("activationCode", .string, "What the user types in."),
            .optional("activationCodeSignature", .base64),
            .optional("activationQrCodeData", .string, "The content of the QR code, CODE#SIGNATURE."),
            .optional("timestampExpires", .timestamp, "Until when the code can be used."),
            .optional("name", .string), .optional("platform", .string), .optional("deviceInfo", .string),
            .optional("externalUserId", .string), .optional("protocolVersion", .string),
            .optional("algorithm", .string),
            .optional("activationFingerprint", .string, "Eight digits that the device shows too."),
            .optional("blockedReason", .string),
            .optional("timestampBlockExpire", .timestamp, "When a block ends by itself."),
            .optional("push", .pushDevice),
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
    package static let newOperation = Self.object(
        "NewOperation",
        [
            .optional("userId", .string, "Who is to decide; without one, the first who claims the operation."),
            .optional("appId", .string, "The application; the server's own if left out."),
            .optional("registrationId", .string, "The only registration of the user that may decide."),
            .optional("template", .string, "What the operation is made from; see /_emulator/templates."),
            .optional("parameters", .open(), "Values for the placeholders; those left out have examples."),
            .optional("operationType", .string, "Without a template: the name that the device sees."),
            .optional("name", .string, "Another name of operationType."),
            .optional("data", .string, "Without a template: what is signed."),
            .optional(
                "formData",
                .open([.required("title", .word), .required("message", .word)]),
                "Without a template: what the user is shown."
            ),
            .optional("ui", .open(), "Without a template: how it is shown."),
            .optional("allowedSignatureType", .allowedSignature),
            .optional("timestampExpires", .timestamp, "Until when it can be decided."),
            .optional("expiresIn", .integer(1...31_536_000), "For how many seconds it can be decided."),
            .optional("maxFailureCount", .integer(1...255)),
            .optional("proximityCheckEnabled", .boolean),
            .optional("activationFlag", .string, "Only activations with this flag see and decide it."),
            .optional("externalId", .string),
            .optional("callbackUrl", .string, "Where to tell of this operation, beside the callbacks that there are."),
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
            .required("operationId", .string), .optional("userId", .string), .required("appId", .string),
            .optional("registrationId", .string), .optional("externalId", .string), .optional("callbackUrl", .string),
            .required("status", .oneOf(ServerOperation.Status.self)), .optional("statusReason", .string),
            .required("operationType", .string), .optional("template", .string), .required("data", .string),
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

    static let offlineCode = Self.object(
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
            .required("remainingAttempts", .count), .required("flags", .strings), .required("application", .string),
        ]
    )
}

// MARK: - Messages and applications

extension Schema {
    package static let newMessage = Self.object(
        "NewMessage",
        [
            .required("userId", .word, "Whose inbox it is put into."), .required("subject", .word),
            .required("summary", .word), .required("body", .word),
            .optional("type", .oneOf(InboxMessage.Format.self)), .optional("silent", .boolean),
        ]
    )

    package static let message = Self.object(
        "Message",
        [
            .required("id", .string), .required("subject", .string), .required("summary", .string),
            .required("body", .string), .required("type", .oneOf(InboxMessage.Format.self)),
            .required("timestamp", .timestamp), .required("read", .boolean),
        ]
    )

    static let newApplication = Self.object("NewApplication", [.required("appId", .word)])

    static let application = Self.object(
        "Application",
        [
            .required("appId", .string), .required("applicationKey", .base64), .required("applicationSecret", .base64),
            .required("masterServerPublicKey", .base64),
            .required("sdkConfiguration", .string, "The string that configures a client."),
        ]
    )

    static let applications = Self.object("Applications", [.required("applications", .list(of: .application))])

    static let applicationDetail = Self.object(
        "ApplicationDetail",
        [
            .required("id", .string), .required("serviceBaseUrl", .string), .required("appKey", .base64),
            .required("appSecret", .base64), .required("masterServerPublicKey", .base64),
            .required("mobileSdkConfig", .string),
        ]
    )
}
