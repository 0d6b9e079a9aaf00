import PowerAuth

/// A call of the Mobile Token API, by what the server's error codes mean on it.
enum ServerCall {
    case authorize, reject, claim, detail, other

    /// Runs `body`, a request, whose errors get the code that the server's own code stands for on this call.
    func mappingErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as MobileTokenError {
            throw error.serverCode.flatMap { self.code(of: $0) }.map { error.with($0) } ?? error
        }
    }

    private func code(of serverCode: String) -> MobileTokenError.Code? {
        switch serverCode {
        case "OPERATION_ALREADY_FINISHED": .operationAlreadyFinished
        case "OPERATION_ALREADY_FAILED": .operationAlreadyFailed
        case "OPERATION_ALREADY_CANCELED": .operationAlreadyCanceled
        case "OPERATION_ALREADY_REJECTED": .operationAlreadyRejected
        case "OPERATION_EXPIRED": self.expired
        case "OPERATION_FAILED": .operationFailed
        case "INVALID_ACTIVATION": .invalidActivation
        case "PUSH_REGISTRATION_FAILED": .pushRegistrationFailed
        default: nil
        }
    }

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
        Self(
            code,
            self.message,
            httpStatus: self.httpStatus,
            serverCode: self.serverCode,
            remainingAttempts: self.remainingAttempts,
            retryAfter: self.retryAfter,
            underlying: self.underlying
        )
    }
}
