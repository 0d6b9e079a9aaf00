import CloudCalls
import EmulatorMessages

// What the cloud API takes and gives: headers of devices, and what they are worth.

extension Schema {
    static let codeToVerify = Self.tolerant(
        "CodeToVerify",
        [
            .required("method", .oneOf(["GET", "POST", "PUT", "DELETE"]), "That of the device's request."),
            .required("uriId", .word, "What the bank and the device call the endpoint."),
            .required("authHeader", .word, "The value of X-PowerAuth-Authorization."),
            .optional("requestBody", .base64, "The body, byte for byte; not of GET."),
            .optional("queryParams", .object([], others: .string), "The query of GET."),
        ]
    )

    static let codeVerdict = Self.object(
        "CodeVerdict",
        [
            .required("signatureValid", .boolean), .optional("userId", .string), .required("registrationId", .string),
            .required("registrationStatus", .oneOf(ServerActivation.Status.self)), .optional("signatureType", .string),
            .optional("remainingAttempts", .count), .optional("flags", .strings),
            .optional("application", CloudAPI.VerifiedApplication.schema),
        ]
    )

    static let tokenToVerify = Self.tolerant(
        "TokenToVerify",
        [.required("authHeader", .word, "The value of X-PowerAuth-Token.")]
    )

    static let tokenVerdict = Self.object(
        "TokenVerdict",
        [
            .required("tokenValid", .boolean), .optional("userId", .string), .optional("registrationId", .string),
            .optional("registrationStatus", .oneOf(ServerActivation.Status.self)), .optional("signatureType", .string),
            .optional("flags", .strings), .optional("application", CloudAPI.VerifiedApplication.schema),
        ]
    )
}
