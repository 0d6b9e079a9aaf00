package import HTTPClientTransport

extension MobileTokenError {
    /// Translates a transport's error. Cancellation is unchanged.
    package static func transport(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError, is MobileTokenError:
            return error
        case let error as HTTPTransportError:
            let (code, message) = Self.meaning(of: error.code)
            // The detail is a fixed string of the transport or of libcurl.
            return MobileTokenError(
                code,
                error.detail.isEmpty ? message : "\(message): \(error.detail)",
                httpStatus: code == .invalidResponse ? error.httpStatus : nil,
                underlying: error
            )
        default:
            return MobileTokenError(.networkUnknown, "The transport failed", underlying: error)
        }
    }

    private static func meaning(of code: HTTPTransportError.Code) -> (Code, String) {
        switch code {
        case .connectionFailed: (.noConnection, "The server cannot be reached")
        case .connectionLost: (.connectionLost, "The connection ended before the response was complete")
        case .timeout: (.timeout, "The server did not answer in time")
        case .tlsFailed: (.tlsFailed, "No trusted connection to the server")
        case .invalidConfiguration: (.invalidConfiguration, "The transport cannot be configured so")
        case .invalidRequest: (.invalidConfiguration, "The transport cannot use the URL or a header")
        case .invalidResponse: (.invalidResponse, "The response is not HTTP")
        case .responseTooLarge: (.invalidResponse, "The response is larger than accepted")
        // Requests in flight fail with a lost connection instead.
        case .shutdown: (.noConnection, "The transport was shut down")
        case .tooLate: (.signingTurnLost, "The right to sign ended before the request could be sent")
        default: (.networkUnknown, "The transport failed")
        }
    }

    static func ofCall(_ path: String, _ error: any Error) -> any Error {
        guard var error = error as? MobileTokenError else { return error }
        error.effect = CallEffect(path: path)
        return error
    }

    /// Runs a store call and translates its other errors to ``Code/storeFailed``. A missing activation always becomes the same
    /// error, because users match on it and polling ends with it.
    package static func mapStoreErrors<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as MobileTokenError where error.code == .activationNotStored {
            throw MobileTokenError.unknownActivation
        } catch let error where error is CancellationError || error is MobileTokenError || error is any SigningObstacle
        {
            throw error
        } catch {
            throw MobileTokenError(.storeFailed, "The activation store failed", underlying: error)
        }
    }

    package static func unsupported(_ what: String) -> Self { Self(.notSupported, what) }

    /// Returns the error of an unreadable or unauthenticated response. `what` names the call, never its content.
    package static func invalidResponse(_ what: String, underlying: (any Error)? = nil) -> Self {
        Self(.invalidResponse, what, underlying: underlying)
    }
}

extension MobileTokenError {
    /// Runs `body`, which reads a response, and translates its other errors to ``Code/invalidResponse``.
    package static func mapErrors<Result>(ofResponse path: String, _ body: () throws -> Result) throws(MobileTokenError)
        -> Result
    {
        do {
            return try body()
        } catch let error as MobileTokenError {
            throw error
        } catch {
            throw .invalidResponse("The response to \(path) cannot be trusted", underlying: error)
        }
    }

    /// Runs `body`, which computes with our own keys, and translates its other errors to ``Code/cryptographyFailed``.
    package static func mapCryptoErrors<Result>(_ body: () throws -> Result) throws(MobileTokenError) -> Result {
        do {
            return try body()
        } catch let error as MobileTokenError {
            throw error
        } catch {
            throw MobileTokenError(.cryptographyFailed, "A cryptographic operation failed", underlying: error)
        }
    }
}

extension BaseURLRule {
    /// Returns the address without trailing slashes.
    ///
    /// - Parameter name: The caller's name for the address, such as `baseURL`, for the message.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``.
    package func configured(_ baseURL: String, _ name: String) throws(MobileTokenError) -> String {
        do { return try self.validated(baseURL, name) } catch {
            throw MobileTokenError(.invalidConfiguration, error.message)
        }
    }
}
