import APIDescriptions

// The bodies of PowerAuth's standard endpoints. Encrypted ones are described as far as they are visible.

extension Schema {
    static let envelope3 = Self.named(
        "Envelope3",
        .open([
            .optional("temporaryKeyId", .string), .required("ephemeralPublicKey", .base64),
            .required("encryptedData", .base64), .required("mac", .base64), .required("nonce", .base64),
            .optional("timestamp", .timestamp),
        ])
    )

    static let sealed3 = Self.object(
        "SealedResponse3",
        [
            .required("encryptedData", .base64), .required("mac", .base64), .optional("nonce", .base64),
            .optional("timestamp", .timestamp),
        ]
    )

    static let envelope4 = Self.named(
        "Envelope4",
        .open([
            .required("temporaryKeyId", .string), .required("encryptedData", .base64), .required("nonce", .base64),
            .required("timestamp", .timestamp),
        ])
    )

    static let sealed4 = Self.object(
        "SealedResponse4",
        [.required("encryptedData", .base64), .required("timestamp", .timestamp)]
    )

    /// A signed JWT of a request or a response.
    static let token = Self.open([.required("jwt", .word)])

    static let tokenRequest = Self.named("JwtRequest", .request(.token))
    static let tokenResponse = Self.named("JwtResponse", .wrapped(.token))

    static let activationIDResponse = Self.named(
        "ActivationIdResponse",
        .wrapped(.object([.required("activationId", .string)]))
    )

    static let tokenIDRequest = Self.named("TokenIdRequest", .request(.open([.required("tokenId", .word)])))
    static let tokenIDResponse = Self.named("TokenIdResponse", .wrapped(.object([.required("tokenId", .string)])))

    static let activationStatusRequest = Self.named(
        "ActivationStatusRequest",
        .request(.open([.required("activationId", .word), .optional("challenge", .base64, "16 bytes.")]))
    )

    static let activationStatusResponse = Self.named(
        "ActivationStatusResponse",
        .wrapped(
            .object([
                .required("activationId", .string), .required("encryptedStatusBlob", .base64),
                .optional("nonce", .base64, "Missing for a request without a challenge."),
            ])
        )
    )

    static let serverStatusRequest = Self.open([
        .optional("requestObject", .open([.optional("applicationKey", .string)]))
    ])

    static let serverStatusResponse = Self.named(
        "ServerStatusResponse",
        .wrapped(
            .object([
                .required("serverTime", .timestamp),
                .required("application", .object([.required("name", .string), .required("version", .string)])),
                .optional("supportedAlgorithms", .strings, "In version 4, for those who name an application."),
            ])
        )
    )
}
