package import APIDescriptions

extension CloudAPI {
    /// Newer editions of the documentation name the call after authentication codes, older ones and the clients after signatures.
    package static let verifySignature = Self.verifyCode("/v2/signature/verify")
    package static let verifyAuthentication = Self.verifyCode("/v2/authentication/verify")

    private static func verifyCode(_ path: String) -> Endpoint<CodeToVerify, Verdict> {
        Self.endpoint(
            "POST \(path)",
            "Verifies the signature or the authentication code of a request that a device sent to the bank.",
            takes: Call.body(CodeToVerify.form),
            gives: Verdict.ofCode.form
        )
    }

    package static let verifyToken = Self.endpoint(
        "POST /v2/token/verify",
        "Verifies the token of a request that a device sent to the bank.",
        takes: Call.body(Self.tokenHeader.form),
        gives: Verdict.ofToken.form
    )

    /// A device's request to the bank, as far as its code covers it.
    package struct CodeToVerify: Described {
        package enum Method: String, Sendable, CaseIterable {
            case get = "GET"
            case post = "POST"
            case put = "PUT"
            case delete = "DELETE"
        }

        package var method: Method
        package var uriID: String
        package var header: String
        /// The body in Base64.
        package var body: String?
        package var query: [String: String]?

        package static let fields = FieldTable(
            "CodeToVerify",
            Self.init(method:uriID:header:body:query:),
            .required("method", \.method, .cases(), "The method of the device's request."),
            .required("uriId", \.uriID, .word, "The name of the endpoint for the bank and the device."),
            .required(
                "authHeader",
                \.header,
                .word,
                "The value of X-PowerAuth-Authorization.",
                example: """
                    PowerAuth pa_activation_id="0f038bac-6c94-45eb-b3a9-f92e809e8ea4", \
                    pa_application_key="MDEyMzQ1Njc4OWFiY2RlZg==", pa_nonce="kYjzVBB8Y0ZFabxSWbWovQ==", \
                    pa_signature_type="possession_knowledge", \
                    pa_signature="MTIzNDU2Nzg5MDEyMzQ1NjEyMzQ1Njc4OTAxMjM0NTY=", pa_version="3.3"
                    """
            ),
            .optional("requestBody", \.body, .base64, "The body, byte for byte; not of GET."),
            .optional("queryParams", \.query, .strings, "The query of GET.")
        ).tolerant

        package init(method: Method, uriID: String, header: String, body: String?, query: [String: String]?) {
            (self.method, self.uriID, self.header, self.body, self.query) = (method, uriID, header, body, query)
        }
    }

    /// The server's verdict on a code or a token. For one that was not verified, it has only the registration's state.
    package struct Verdict: Sendable {
        package var isValid: Bool
        package var userID: String?
        package var registrationID: String?
        package var registrationStatus: String?
        /// The factors, in capitals.
        package var signatureType: String?
        package var remainingAttempts: Int?
        package var flags: [String]?
        package var application: VerifiedApplication?

        static let ofOfflineCode = FieldTable(
            "OfflineVerdict",
            Self.init,
            .required("otpValid", \.isValid, .boolean),
            .demanded("userId", \.userID, .string),
            .demanded("registrationId", \.registrationID, .string),
            .demanded("registrationStatus", \.registrationStatus, .registrationStatus),
            .demanded("signatureType", \.signatureType, .string),
            .demanded("remainingAttempts", \.remainingAttempts, .count),
            .demanded("flags", \.flags, .list(of: .string)),
            .demanded("application", \.application, .described)
        )

        fileprivate static let ofCode = FieldTable(
            "CodeVerdict",
            Self.init,
            .required("signatureValid", \.isValid, .boolean),
            .optional("userId", \.userID, .string),
            .demanded("registrationId", \.registrationID, .string),
            .demanded("registrationStatus", \.registrationStatus, .registrationStatus),
            .optional("signatureType", \.signatureType, .string),
            .optional("remainingAttempts", \.remainingAttempts, .count),
            .optional("flags", \.flags, .list(of: .string)),
            .optional("application", \.application, .described)
        )

        fileprivate static let ofToken = FieldTable(
            "TokenVerdict",
            {
                Self(
                    isValid: $0,
                    userID: $1,
                    registrationID: $2,
                    registrationStatus: $3,
                    signatureType: $4,
                    flags: $5,
                    application: $6
                )
            },
            .required("tokenValid", \.isValid, .boolean),
            .optional("userId", \.userID, .string),
            .optional("registrationId", \.registrationID, .string),
            .optional("registrationStatus", \.registrationStatus, .registrationStatus),
            .optional("signatureType", \.signatureType, .string),
            .optional("flags", \.flags, .list(of: .string)),
            .optional("application", \.application, .described)
        )
    }

    /// The header of a device's request to the bank.
    private static let tokenHeader = FieldTable<String>(
        "TokenToVerify",
        .required(
            "authHeader",
            \.self,
            .word,
            "The value of X-PowerAuth-Token.",
            example: """
                PowerAuth token_id="0f038bac-6c94-45eb-b3a9-f92e809e8ea4", \
                token_digest="MTIzNDU2Nzg5MDEyMzQ1NjEyMzQ1Njc4OTAxMjM0NTY=", nonce="kYjzVBB8Y0ZFabxSWbWovQ==", \
                timestamp="1772352000000", version="3.3"
                """
        )
    ).tolerant
}

extension CloudAPI.Verdict {
    package init(isValid: Bool, registrationID: String?, registrationStatus: String?) {
        (self.isValid, self.registrationID, self.registrationStatus) = (isValid, registrationID, registrationStatus)
    }
}
