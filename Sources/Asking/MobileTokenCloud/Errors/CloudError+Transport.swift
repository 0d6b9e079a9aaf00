import HTTPClientTransport

extension CloudError {
    /// Translates a transport's error. Cancellation is unchanged.
    ///
    /// - Parameter isRead: `true` if the call is read-only.
    static func transport(_ error: any Error, isRead: Bool) -> any Error {
        if error is CancellationError { return error }
        let failure = error as? HTTPTransportError
        let (code, message, neverLeft) = Self.meaning(of: failure?.code)
        // The detail is a fixed string of the transport or of libcurl.
        let detail = failure?.detail ?? ""
        return CloudError(
            code,
            detail.isEmpty ? message : "\(message): \(detail)",
            httpStatus: code == .invalidResponse ? failure?.httpStatus : nil,
            isOutcomeUnknown: !isRead && !neverLeft,
            underlying: error
        )
    }

    private static func meaning(
        of code: HTTPTransportError.Code?
    ) -> (Code, message: String, neverLeft: Bool) {
        switch code {
        case .connectionFailed?: (.noConnection, "The server cannot be reached", true)
        case .shutdown?: (.noConnection, "The transport was shut down", true)
        case .tlsFailed?: (.tlsFailed, "No trusted connection to the server", true)
        case .invalidConfiguration?: (.invalidConfiguration, "The transport cannot be configured so", true)
        case .invalidRequest?: (.invalidConfiguration, "The transport cannot use the URL or a header", true)
        case .connectionLost?: (.connectionLost, "The connection ended before the response was complete", false)
        case .timeout?: (.timeout, "The server did not answer in time", false)
        case .invalidResponse?: (.invalidResponse, "The response is not HTTP", false)
        case .responseTooLarge?: (.invalidResponse, "The response is larger than accepted", false)
        default: (.networkUnknown, "The transport failed", false)
        }
    }

    /// Indicates whether the same call may succeed later.
    var mayPass: Bool {
        if let httpStatus { return httpStatus == 408 || httpStatus == 429 || httpStatus >= 500 }
        if (self.underlying as? HTTPTransportError)?.code == .shutdown { return false }
        return self.code == .noConnection || self.code == .connectionLost
    }
}
