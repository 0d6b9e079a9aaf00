/// The body of a response below 400, with its HTTP status.
public struct ChannelResponse: Sendable {
    /// The body, undecoded.
    public let bytes: [UInt8]
    /// The status.
    public let httpStatus: Int
    /// The signature that decided, if the request decided an operation.
    package var decision: SignedDecision?

    /// Creates a response.
    public init(_ bytes: [UInt8], httpStatus: Int = 200) {
        self.bytes = bytes
        self.httpStatus = httpStatus
    }

    /// Creates a response from JSON, such as `{"status":"OK"}`.
    public init(json: String, httpStatus: Int = 200) {
        self.init(Array(json.utf8), httpStatus: httpStatus)
    }

    /// The response to a request that asks for no more than success.
    public static let success = Self(json: #"{"status":"OK"}"#)

    /// Reads the body. Errors about an unreadable body name the status: a page of some proxy comes under 200 as often as
    /// not.
    ///
    /// - Throws: The error of `body`. A ``MobileTokenError/Code/invalidResponse`` gets the status if it has none.
    package func read<Value>(_ body: ([UInt8]) throws -> Value) throws -> Value {
        try self.mappingErrors { try body(self.bytes) }
    }

    /// Runs `body`, whose errors about this response get its status, and the signature that it is the response to.
    package func mappingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch var error as MobileTokenError {
            if error.code == .invalidResponse, error.httpStatus == nil { error.httpStatus = self.httpStatus }
            error.decision = error.decision ?? self.decision
            throw error
        }
    }

    /// Returns the body that `transform` makes of this one, such as its plaintext, under the same status.
    func map(_ transform: ([UInt8]) throws -> [UInt8]) throws -> Self {
        Self(try self.read(transform), httpStatus: self.httpStatus)
    }
}

extension ChannelResponse {
    /// Returns the response to an encrypted request, opened.
    ///
    /// - Throws: ``MobileTokenError/Code/encryptionFailed`` for an empty one, with which real servers go on after a request that
    ///   they could not open.
    func opened(by body: RequestBody, of path: String) throws -> Self {
        guard body.temporaryKeyID == nil || !self.bytes.isEmpty else {
            throw MobileTokenError(
                .encryptionFailed,
                "The server did not open the request",
                httpStatus: self.httpStatus
            )
        }
        return try self.map { bytes in try MobileTokenError.mapErrors(ofResponse: path) { try body.open(bytes) } }
    }
}
