import Basics
package import PowerAuth

/// The kinds of Mobile Token API calls, which determine the meaning of the server's error codes.
package enum ServerCall {
    case authorize, reject, claim, detail, other

    /// Makes the call, and maps the server's error code to this call's own.
    ///
    /// - Parameters:
    ///   - language: The value of `Accept-Language`.
    ///   - decision: The decision that the call makes, if any.
    package func post(
        _ path: String,
        body: [UInt8],
        on channel: any AuthenticatedChannel,
        authentication: RequestAuthentication = .universalToken,
        language: String,
        decision: DecisionIntent? = nil
    ) async throws -> ChannelResponse {
        do {
            return try await channel.post(
                path,
                body: body,
                authentication: authentication,
                acceptLanguage: language,
                decision: decision
            )
        } catch let error as MobileTokenError {
            guard error.isServersRefusal, let code = error.serverCode.flatMap({ self.code(of: $0) }) else {
                throw error
            }
            throw error.with(code)
        }
    }

    private func code(of serverCode: String) -> MobileTokenError.Code? {
        let serverCode = ExactString(serverCode)
        return serverCode == "OPERATION_EXPIRED" ? self.expired : Self.codes[serverCode]
    }

    /// The error codes with one meaning for all calls of the Mobile Token API. They are matched exactly.
    private static let codes: [ExactString: MobileTokenError.Code] = [
        "OPERATION_ALREADY_FINISHED": .operationAlreadyFinished,
        "OPERATION_ALREADY_FAILED": .operationAlreadyFailed,
        "OPERATION_ALREADY_CANCELED": .operationAlreadyCanceled,
        "OPERATION_ALREADY_REJECTED": .operationAlreadyRejected,
        "OPERATION_FAILED": .operationFailed,
        "OPERATION_REQUIRES_ACTIVATION_FLAG": .activationFlagRequired,
        "INVALID_OPERATION": .invalidOperation,
        "INVALID_APPLICATION": .invalidApplication,
        "INVALID_ACTIVATION": .invalidActivation,
        // Their constants are those of `MobileTokenNotifications`.
        "INBOX_FAILED": .init(rawValue: "inboxFailed"),
        "PUSH_REGISTRATION_FAILED": .init(rawValue: "pushRegistrationFailed"),
    ]

    private var expired: MobileTokenError.Code? {
        switch self {
        case .authorize: .authorizeExpired
        case .reject: .rejectExpired
        case .claim: .claimExpired
        case .detail: .detailExpired
        case .other: nil
        }
    }
}

extension MobileTokenError {
    fileprivate func with(_ code: Code) -> Self {
        var error = self
        error.code = code
        return error
    }
}
