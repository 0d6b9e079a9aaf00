internal import MobileToken

extension ExitCode {
    /// What a failure means to the caller of the program.
    init(_ error: MobileTokenError) {
        switch error.code {
        case .noConnection, .connectionLost, .timeout, .tlsFailed, .networkUnknown: self = .network
        case .unknownActivation: self = .notFound
        case .invalidConfiguration, .invalidActivationCode, .invalidAuthentication, .invalidLanguage, .invalidName:
            self = .usage
        case .storeUnreadable, .storePermissions, .storeWrongSealingKey, .storeSealingKeyMissing, .storeFull,
            .storeReadOnly, .storeCorrupted, .storeFromFuture, .storeBusy, .storeClosed, .storeFailed,
            .cryptographyFailed, .activationNotSaved:
            self = .local
        default: self = .refused
        }
    }
}
