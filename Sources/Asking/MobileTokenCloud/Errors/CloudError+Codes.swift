import Basics

extension CloudError.Code {
    // MARK: The server's refusals

    /// The request is invalid, with reasons in ``CloudError/violations`` (`ERROR_REQUEST`), or an identifier is unusable in a
    /// path.
    public static let invalidRequest = Self("invalidRequest")
    /// The credentials are wrong or insufficient (`HTTP_401`, `ERROR_UNAUTHORIZED`).
    public static let unauthorized = Self("unauthorized")
    /// There is no such registration (`ERROR_REGISTRATION_NOT_FOUND`).
    public static let registrationNotFound = Self("registrationNotFound")
    /// There is no such operation (`ERROR_OPERATION_NOT_FOUND`).
    public static let operationNotFound = Self("operationNotFound")
    /// There is no such message or inbox (`ERROR_INBOX_NOT_FOUND`).
    public static let messageNotFound = Self("messageNotFound")
    /// There is no such call: the base URL is wrong, or the server's edition lacks it (`ERROR_NOT_FOUND`).
    public static let callNotFound = Self("callNotFound")
    /// The state of the registration forbids the change (`ERROR_REGISTRATION_CHANGE`).
    public static let registrationNotChangeable = Self("registrationNotChangeable")
    /// The operation has ended (`ERROR_OPERATION_STATE_CHANGE`).
    public static let operationNotChangeable = Self("operationNotChangeable")
    /// The registration does not allow the call (`ERROR_REGISTRATION`).
    public static let registrationFailed = Self("registrationFailed")
    /// The user may not register a device now (`ERROR_REGISTRATION_NOT_ALLOWED`).
    public static let registrationNotAllowed = Self("registrationNotAllowed")
    /// The code of an offline approval is malformed (`ERROR_OTP_INVALID`).
    public static let malformedOfflineCode = Self("malformedOfflineCode")
    /// The header with a device's authentication code is malformed (`ERROR_SIGNATURE_INVALID`).
    public static let malformedSignature = Self("malformedSignature")
    /// The header with a device's token is malformed (`ERROR_TOKEN_INVALID`).
    public static let malformedToken = Self("malformedToken")
    /// The message cannot be pushed (`ERROR_PUSH_MESSAGE`).
    public static let pushFailed = Self("pushFailed")
    /// The inbox cannot be used (`ERROR_INBOX`).
    public static let inboxFailed = Self("inboxFailed")
    /// The server could not write its audit log (`ERROR_AUDIT`).
    public static let auditFailed = Self("auditFailed")
    /// The server failed (`ERROR_GENERIC`, `ERROR_INTERNAL_API`).
    public static let serverFailed = Self("serverFailed")
    /// A server behind the server failed or is unreachable (`ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE`).
    public static let upstreamFailed = Self("upstreamFailed")
    /// The server refused with a code unknown to this version: ``CloudError/serverCode``.
    public static let otherRefusal = Self("otherRefusal")

    // MARK: No answer of the server

    /// An error or redirect without the server's envelope, such as a proxy's page.
    public static let httpStatus = Self("httpStatus")
    /// The response is unreadable, incomplete or too large.
    public static let invalidResponse = Self("invalidResponse")
    /// The server is unreachable, or the client was shut down. Nothing was sent.
    public static let noConnection = Self("noConnection")
    /// The connection ended before the response was complete.
    public static let connectionLost = Self("connectionLost")
    /// The server did not respond in time.
    public static let timeout = Self("timeout")
    /// The server's certificate or key was rejected. Nothing was sent.
    public static let tlsFailed = Self("tlsFailed")
    /// A transport-specific failure.
    public static let networkUnknown = Self("networkUnknown")

    // MARK: The caller

    /// The client's configuration is invalid. Nothing was sent.
    public static let invalidConfiguration = Self("invalidConfiguration")
    /// The caller of a desk was canceled. The call may have had its effect.
    package static let canceled = Self("canceled")

    /// Maps the server's code, which is matched exactly.
    init(serverCode: String) { self = Self.byServerCode[ExactString(serverCode)] ?? .otherRefusal }

    private static let byServerCode: [ExactString: Self] = [
        "ERROR_REQUEST": .invalidRequest,
        "HTTP_401": .unauthorized,
        "ERROR_UNAUTHORIZED": .unauthorized,
        "ERROR_REGISTRATION_NOT_FOUND": .registrationNotFound,
        "ERROR_OPERATION_NOT_FOUND": .operationNotFound,
        "ERROR_INBOX_NOT_FOUND": .messageNotFound,
        "ERROR_NOT_FOUND": .callNotFound,
        "ERROR_REGISTRATION_CHANGE": .registrationNotChangeable,
        "ERROR_OPERATION_STATE_CHANGE": .operationNotChangeable,
        "ERROR_REGISTRATION": .registrationFailed,
        "ERROR_REGISTRATION_NOT_ALLOWED": .registrationNotAllowed,
        "ERROR_OTP_INVALID": .malformedOfflineCode,
        "ERROR_SIGNATURE_INVALID": .malformedSignature,
        "ERROR_TOKEN_INVALID": .malformedToken,
        "ERROR_PUSH_MESSAGE": .pushFailed,
        "ERROR_INBOX": .inboxFailed,
        "ERROR_AUDIT": .auditFailed,
        "ERROR_GENERIC": .serverFailed,
        "ERROR_INTERNAL_API": .serverFailed,
        "ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE": .upstreamFailed,
    ]
}
