import Basics

extension CloudError.Code {
    // MARK: The server's refusals

    /// The request is not valid: ``CloudError/violations`` says why (`ERROR_REQUEST`), or an identifier cannot stand in a path.
    public static let invalidRequest = Self("invalidRequest")
    /// The credentials are wrong, or do not allow the call (`HTTP_401`, `ERROR_UNAUTHORIZED`).
    public static let unauthorized = Self("unauthorized")
    /// There is no such registration (`ERROR_REGISTRATION_NOT_FOUND`).
    public static let registrationNotFound = Self("registrationNotFound")
    /// There is no such operation (`ERROR_OPERATION_NOT_FOUND`).
    public static let operationNotFound = Self("operationNotFound")
    /// There is no such message or inbox (`ERROR_INBOX_NOT_FOUND`).
    public static let messageNotFound = Self("messageNotFound")
    /// There is no such call: the base URL is wrong, or the server's edition does not have it (`ERROR_NOT_FOUND`).
    public static let callNotFound = Self("callNotFound")
    /// The state of the registration forbids the change (`ERROR_REGISTRATION_CHANGE`).
    public static let registrationNotChangeable = Self("registrationNotChangeable")
    /// The operation is over and does not change any more (`ERROR_OPERATION_STATE_CHANGE`).
    public static let operationNotChangeable = Self("operationNotChangeable")
    /// Something about the registration forbids the call (`ERROR_REGISTRATION`).
    public static let registrationFailed = Self("registrationFailed")
    /// The user may not register a device now (`ERROR_REGISTRATION_NOT_ALLOWED`).
    public static let registrationNotAllowed = Self("registrationNotAllowed")
    /// The code of an offline approval is not of its form (`ERROR_OTP_INVALID`).
    public static let malformedOfflineCode = Self("malformedOfflineCode")
    /// The header with a device's authentication code cannot be read (`ERROR_SIGNATURE_INVALID`).
    public static let malformedSignature = Self("malformedSignature")
    /// The header with a device's token cannot be read (`ERROR_TOKEN_INVALID`).
    public static let malformedToken = Self("malformedToken")
    /// The message cannot be pushed (`ERROR_PUSH_MESSAGE`).
    public static let pushFailed = Self("pushFailed")
    /// The inbox cannot be used (`ERROR_INBOX`).
    public static let inboxFailed = Self("inboxFailed")
    /// The server could not write its audit log (`ERROR_AUDIT`).
    public static let auditFailed = Self("auditFailed")
    /// The server failed (`ERROR_GENERIC`, `ERROR_INTERNAL_API`).
    public static let serverFailed = Self("serverFailed")
    /// A server behind the server failed or cannot be reached (`ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE`).
    public static let upstreamFailed = Self("upstreamFailed")
    /// The server refused by a code that this version of the library does not know: ``CloudError/serverCode``.
    public static let otherRefusal = Self("otherRefusal")

    // MARK: No answer of the server

    /// The response is an error or a redirect without the server's own words, such as the page of a proxy.
    public static let httpStatus = Self("httpStatus")
    /// The response cannot be read, lacks a member that every server gives, or is larger than accepted.
    public static let invalidResponse = Self("invalidResponse")
    /// The server cannot be reached, or the client was shut down. Nothing was sent.
    public static let noConnection = Self("noConnection")
    /// The connection ended before the response was complete.
    public static let connectionLost = Self("connectionLost")
    /// The server did not answer in time.
    public static let timeout = Self("timeout")
    /// There is no trusted connection to the server: its certificate or its key was not accepted. Nothing was sent.
    public static let tlsFailed = Self("tlsFailed")
    /// The transport failed in a way of its own.
    public static let networkUnknown = Self("networkUnknown")

    // MARK: The caller

    /// The client cannot be made so. Nothing was sent.
    public static let invalidConfiguration = Self("invalidConfiguration")

    /// Returns the code for the server's, which is matched exactly.
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
