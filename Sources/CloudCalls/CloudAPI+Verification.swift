package import APIDescriptions

extension CloudAPI {
    /// The newer editions of the documentation name the call after authentication codes, the older ones and the clients after
    /// signatures.
    package static let verifySignature = Self.verifyCode("/v2/signature/verify")
    package static let verifyAuthentication = Self.verifyCode("/v2/authentication/verify")

    private static func verifyCode(_ path: String) -> Endpoint<CodeToVerify, CodeVerdict> {
        Self.endpoint(
            "POST",
            path,
            "Verifies the signature or the authentication code of a request that a device sent to the bank.",
            takes: Call.body(CodeToVerify.form),
            gives: CodeVerdict.form
        )
    }

    package static let verifyToken = Self.endpoint(
        "POST",
        "/v2/token/verify",
        "Verifies the token of a request that a device sent to the bank.",
        takes: Call.body(TokenToVerify.form),
        gives: TokenVerdict.form
    )

    /// A request that a device sent to the bank, as far as its code covers it.
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
        /// In Base64.
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

    /// The server's verdict on a code. Of one that was not looked at, it tells the state of the registration alone.
    package struct CodeVerdict: Described {
        package var isValid: Bool
        package var registrationID: String
        package var registrationStatus: String
        package var identity: VerifiedIdentity?
        package var remainingAttempts: Int?

        package static let fields = FieldTable(
            "CodeVerdict",
            Self.init(
                isValid:
                userID:
                registrationID:
                registrationStatus:
                signatureType:
                remainingAttempts:
                flags:
                application:
            ),
            .required("signatureValid", \.isValid, .boolean),
            .optional("userId", \.identity?.userID, .string),
            .required("registrationId", \.registrationID, .string),
            .required("registrationStatus", \.registrationStatus, .registrationStatus),
            .optional("signatureType", \.identity?.signatureType, .string),
            .optional("remainingAttempts", \.remainingAttempts, .count),
            .optional("flags", \.identity?.flags, .list(of: .string)),
            .optional("application", \.identity?.application, .described)
        )

        package init(
            isValid: Bool,
            registrationID: String,
            registrationStatus: String,
            _ identity: VerifiedIdentity? = nil,
            remainingAttempts: Int? = nil
        ) {
            (self.isValid, self.registrationID, self.registrationStatus) = (isValid, registrationID, registrationStatus)
            (self.identity, self.remainingAttempts) = (identity, remainingAttempts)
        }

        private init(
            isValid: Bool,
            userID: String?,
            registrationID: String,
            registrationStatus: String,
            signatureType: String?,
            remainingAttempts: Int?,
            flags: [String]?,
            application: VerifiedApplication?
        ) {
            let identity = VerifiedIdentity(userID, signatureType, flags, application)
            self.init(
                isValid: isValid,
                registrationID: registrationID,
                registrationStatus: registrationStatus,
                identity,
                remainingAttempts: remainingAttempts
            )
        }
    }

    /// The header of a request that a device sent to the bank.
    package struct TokenToVerify: Described {
        package var header: String

        package static let fields = FieldTable(
            "TokenToVerify",
            Self.init(header:),
            .required(
                "authHeader",
                \.header,
                .word,
                "The value of X-PowerAuth-Token.",
                example: """
                    PowerAuth token_id="0f038bac-6c94-45eb-b3a9-f92e809e8ea4", \
                    token_digest="MTIzNDU2Nzg5MDEyMzQ1NjEyMzQ1Njc4OTAxMjM0NTY=", nonce="kYjzVBB8Y0ZFabxSWbWovQ==", \
                    timestamp="1772352000000", version="3.3"
                    """
            )
        ).tolerant

        package init(header: String) { self.header = header }
    }

    /// The server's verdict on a token.
    package struct TokenVerdict: Described {
        package var isValid: Bool
        package var registrationID: String?
        package var registrationStatus: String?
        package var identity: VerifiedIdentity?

        package static let fields = FieldTable(
            "TokenVerdict",
            Self.init(isValid:userID:registrationID:registrationStatus:signatureType:flags:application:),
            .required("tokenValid", \.isValid, .boolean),
            .optional("userId", \.identity?.userID, .string),
            .optional("registrationId", \.registrationID, .string),
            .optional("registrationStatus", \.registrationStatus, .registrationStatus),
            .optional("signatureType", \.identity?.signatureType, .string),
            .optional("flags", \.identity?.flags, .list(of: .string)),
            .optional("application", \.identity?.application, .described)
        )

        package init(
            isValid: Bool,
            registrationID: String? = nil,
            registrationStatus: String? = nil,
            _ identity: VerifiedIdentity? = nil
        ) {
            (self.isValid, self.registrationID, self.registrationStatus) = (isValid, registrationID, registrationStatus)
            self.identity = identity
        }

        private init(
            isValid: Bool,
            userID: String?,
            registrationID: String?,
            registrationStatus: String?,
            signatureType: String?,
            flags: [String]?,
            application: VerifiedApplication?
        ) {
            let identity = VerifiedIdentity(userID, signatureType, flags, application)
            self.init(
                isValid: isValid,
                registrationID: registrationID,
                registrationStatus: registrationStatus,
                identity
            )
        }
    }

    /// The identity behind a code or a token, of those that were looked at.
    package struct VerifiedIdentity: Sendable {
        package var userID: String?
        /// The factors, in capitals.
        package var signatureType: String?
        package var flags: [String]?
        package var application: VerifiedApplication?

        package init(
            userID: String,
            signatureType: String,
            flags: [String],
            application: VerifiedApplication
        ) {
            (self.userID, self.signatureType, self.flags, self.application) = (
                userID, signatureType, flags, application
            )
        }

        /// - Returns: `nil` where nothing is known.
        fileprivate init?(
            _ userID: String?,
            _ signatureType: String?,
            _ flags: [String]?,
            _ application: VerifiedApplication?
        ) {
            guard userID != nil || signatureType != nil || flags != nil || application != nil else { return nil }
            (self.userID, self.signatureType, self.flags, self.application) = (
                userID, signatureType, flags, application
            )
        }
    }
}
