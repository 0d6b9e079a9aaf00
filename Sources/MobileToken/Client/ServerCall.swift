import Basics
import PowerAuth

/// A call of the Mobile Token API, by what the server's error codes mean on it.
enum ServerCall {
    case authorize, reject, claim, detail, other

    /// Makes the call. Its errors get the code that the server's own code stands for on it.
    ///
    /// - Parameters:
    ///   - language: The value of `Accept-Language`.
    ///   - decision: The decision that the call makes, if it makes one.
    func post(
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
            throw error.serverCode.flatMap { self.code(of: $0) }.map { error.with($0) } ?? error
        }
    }

    private func code(of serverCode: String) -> MobileTokenError.Code? {
        let serverCode = ExactString(serverCode)
        return serverCode == "OPERATION_EXPIRED" ? self.expired : Self.codes[serverCode]
    }

    /// The codes that mean the same on every call of the Mobile Token API. Codes are matched exactly.
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
        "INBOX_FAILED": .inboxFailed,
        "PUSH_REGISTRATION_FAILED": .pushRegistrationFailed,
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
