/// The body of a success, with the HTTP status it came under.
///
/// Whoever reads it does so inside ``read(_:)``, so that an error about an unreadable body names the status: a page of some
/// proxy comes under 200 as often as not.
package struct ResponseBody: Sendable {
    package let bytes: [UInt8]
    package let httpStatus: Int

    package init(_ bytes: [UInt8], httpStatus: Int = 200) {
        self.bytes = bytes
        self.httpStatus = httpStatus
    }

    /// Reads the body.
    ///
    /// - Throws: What `body` throws. A ``MobileTokenError/Code/invalidResponse`` gets the status if it has none.
    package func read<Value>(_ body: ([UInt8]) throws -> Value) throws -> Value {
        try self.naming { try body(self.bytes) }
    }

    /// Runs `body`, whose errors about this response get its status.
    package func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as MobileTokenError where error.code == .invalidResponse && error.httpStatus == nil {
            throw error.with(httpStatus: self.httpStatus)
        }
    }

    /// The body that `transform` makes of this one, such as its plaintext, under the same status.
    func map(_ transform: ([UInt8]) throws -> [UInt8]) throws -> Self {
        Self(try self.read(transform), httpStatus: self.httpStatus)
    }
}

extension MobileTokenError {
    fileprivate func with(httpStatus: Int) -> Self {
        Self(
            self.code,
            self.message,
            httpStatus: httpStatus,
            serverCode: self.serverCode,
            remainingAttempts: self.remainingAttempts,
            retryAfter: self.retryAfter,
            underlying: self.underlying
        )
    }
}
