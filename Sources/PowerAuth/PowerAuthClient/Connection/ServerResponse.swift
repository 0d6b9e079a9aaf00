/// An undecoded response with a status below 400.
package struct ServerResponse: Sendable {
    /// The body, undecoded.
    package let bytes: [UInt8]
    package let httpStatus: Int
    /// The path of the call that it is the response to, where that is known.
    var path: String?
    /// Indicates whether the server says that it did what it was asked; `nil` until that was read.
    var isAcknowledged: Bool?
    /// The signature that decided, if the request decided an operation.
    package var decision: SignedDecision?

    /// Creates a response.
    package init(_ bytes: [UInt8], httpStatus: Int = 200) {
        self.bytes = bytes
        self.httpStatus = httpStatus
    }

    /// Reads the body. Errors for unreadable bodies state the HTTP status, because proxies often send their pages with 200.
    ///
    /// - Throws: The error of `body`. A ``MobileTokenError/Code/invalidResponse`` without a status gets this one.
    package func read<Value>(_ body: ([UInt8]) throws -> Value) throws -> Value {
        try self.mappingErrors { try body(self.bytes) }
    }

    /// Adds the status and the signature of this response to the errors of `body`.
    package func mappingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch var error as MobileTokenError {
            if error.code == .invalidResponse, error.httpStatus == nil { error.httpStatus = self.httpStatus }
            error.effect = error.effect ?? self.path.map { CallEffect(path: $0) }
            error.decision = error.decision ?? self.decision
            throw error
        }
    }

    /// Returns the response with a transformed body, such as its plaintext.
    func map(_ transform: ([UInt8]) throws -> [UInt8]) throws -> Self {
        var response = Self(try self.read(transform), httpStatus: self.httpStatus)
        response.path = self.path
        return response
    }
}

extension ServerResponse {
    /// Decrypts the response to an encrypted request.
    ///
    /// - Throws: ``MobileTokenError/Code/encryptionFailed`` for an empty body, which real servers send if they could not decrypt
    ///   the request.
    func opened(by body: EncodedBody, of path: String) throws -> Self {
        guard body.temporaryKeyID == nil || !self.bytes.isEmpty else {
            // An empty body with another status is not from the server.
            throw MobileTokenError(
                self.httpStatus == 200 ? .encryptionFailed : .invalidResponse,
                "The server did not open the request",
                httpStatus: self.httpStatus
            )
        }
        return try self.map { bytes in try MobileTokenError.mapErrors(ofResponse: path) { try body.open(bytes) } }
    }
}
