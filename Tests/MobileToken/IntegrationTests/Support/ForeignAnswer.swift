import HTTPClientTransport
import MobileToken

/// An answer that is not the server's own word to a call.
struct ForeignAnswer: Sendable, CustomStringConvertible {
    let description: String
    let result: Result<HTTPResponse, HTTPTransportError>
    let codes: Set<MobileTokenError.Code>

    static let all = Self.pages + Self.successes + Self.otherDocuments + Self.failures + Self.broken

    private init(_ status: Int, _ body: String, as name: String, _ codes: Set<MobileTokenError.Code>) {
        self.description = "\(status) \(name)"
        self.result = .success(HTTPResponse(status: status, body: Array(body.utf8)))
        self.codes = codes
    }

    private init(_ error: HTTPTransportError, _ code: MobileTokenError.Code) {
        self.description = "\(error) \(error.httpStatus ?? 0)"
        self.result = .failure(error)
        self.codes = [code]
    }

    /// Pages of proxies, gateways and portals.
    private static let pages = [
        300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413,
        414, 415, 416, 417,
        418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 444, 451, 494, 495, 496, 497, 499, 500, 501, 502, 503, 504,
        505, 507, 508, 511,
        520, 521, 522, 523, 524, 525, 526, 530, 598, 599,
    ].map { Self($0, "<html>\($0)</html>", as: "page", [.httpStatus]) }

    /// Bodies that come under a success, and are none.
    private static let successes =
        [200, 201, 202, 203, 204, 205, 206, 207, 226].map { Self($0, "", as: "empty", Self.unreadable) }
        + [
            ("portal", "<html>Please sign in</html>"), ("object", "{}"), ("array", "[]"), ("null", "null"),
            ("number", "1"),
            ("health", #"{"status":"UP"}"#), ("truncated", #"{"status":"OK""#),
            ("no status", #"{"responseObject":{}}"#),
            ("boolean", #"{"status":true}"#), ("twice", #"{"status":"OK","status":"OK"}"#),
            ("compressed", "\u{1F}\u{8B}\u{8}"),
        ].map { Self(200, $0.1, as: $0.0, Self.unreadable) }

    private static let unreadable: Set<MobileTokenError.Code> = [.invalidResponse, .encryptionFailed]

    /// Errors of other servers, in JSON of their own.
    private static let otherDocuments = [
        (400, "no code", #"{"status":"ERROR"}"#), (400, "empty error", #"{"status":"ERROR","responseObject":{}}"#),
        (401, "OAuth", #"{"error":"invalid_token"}"#), (403, "gateway", #"{"message":"Forbidden"}"#),
        (404, "Spring", #"{"timestamp":"t","status":404,"error":"Not Found","path":"/x"}"#),
        (400, "success", #"{"status":"OK","responseObject":{"code":"ERR_AUTHENTICATION","message":"m"}}"#),
        (401, "no envelope", #"{"responseObject":{"code":"ERR_AUTHENTICATION","message":"m"}}"#),
        (400, "two codes", #"{"status":"ERROR","responseObject":{"code":"A","code":"B"}}"#),
    ].map { Self($0.0, $0.2, as: $0.1, [.httpStatus, .serverError]) }

    /// The server's own envelope, which says that it failed.
    private static let failures = [
        (500, "ERROR_GENERIC"), (503, "ERROR_GENERIC"), (500, "ERR_ACTIVATION"), (500, "ERR_AUTHENTICATION"),
        (503, "INVALID_REQUEST"), (500, "OPERATION_ALREADY_FINISHED"), (408, "OPERATION_EXPIRED"),
        (500, "INVALID_OPERATION"),
        (409, "REMOTE_COMMUNICATION_ERROR"), (400, "ERROR_GENERIC"), (302, "ERR_VALIDATION"),
    ].map { status, code in
        Self(
            status,
            #"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"m"}}"#,
            as: code,
            [.serverError, .remoteCommunicationFailed]
        )
    }

    private static let broken = [
        Self(HTTPTransportError(.connectionLost), .connectionLost), Self(HTTPTransportError(.timeout), .timeout),
        Self(HTTPTransportError(.invalidResponse), .invalidResponse),
        Self(HTTPTransportError(.responseTooLarge, httpStatus: 200), .invalidResponse),
        Self(HTTPTransportError(.responseTooLarge, httpStatus: 403), .invalidResponse),
    ]
}
