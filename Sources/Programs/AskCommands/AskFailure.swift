import CommandLineSupport
import MobileTokenApprovals
import MobileTokenCloud

struct AskFailure: CommandFailure {
    let code: String
    let message: String
    let exitCode: ExitCode
    /// The end of an action that has already begun.
    var performance: ApprovalError.Performance?

    init(_ code: String, _ message: String, _ exitCode: ExitCode) {
        (self.code, self.message, self.exitCode) = (code, message, exitCode)
    }

    /// - Parameter words: The server's reason for not asking, which begins with its code. An error that names the code repeats only
    ///   the rest.
    init(_ error: ApprovalError, _ words: String? = nil) {
        let rest = words.flatMap { words in
            words.firstRange(of: ": ").flatMap { end in
                error.message.hasSuffix("(\(words[..<end.lowerBound]))") ? String(words[end.upperBound...]) : nil
            }
        }
        let message = error.message + ((rest ?? words).map { ": \($0)" } ?? "")
        self.init(error.code.description, message, Self.exitCode(of: error))
        self.performance = error.performance
    }

    private static func exitCode(of error: ApprovalError) -> ExitCode {
        switch error.code {
        case .rejected: .rejected
        case .expired, .lapsed: .expired
        case .canceled: .canceled
        case .alreadyPerformed: error.performance == .unknown ? .unknownOutcome : .performedBefore
        case .alreadyAsked: .askedBefore
        case .bindingMismatch, .cannotVerify: .unverified
        case .invalidRequest: .usage
        case .ledgerFailed, .ledgerWentBack: .local
        // `failed`, `noDevice`, `deviceNotAccepted`, `tooManyQuestions`
        default: .askingFailed
        }
    }

    /// Creates the failure of an unreachable server; `nil` if it responded.
    init?(unreachable error: CloudError) {
        let message = "\(error); nobody was asked"
        switch error.code {
        case .tlsFailed: self.init(error.code.description, message, .untrusted)
        case .unauthorized, .invalidConfiguration: self.init(error.code.description, message, .configuration)
        case .noConnection, .connectionLost, .timeout, .networkUnknown, .serverFailed, .upstreamFailed, .httpStatus,
            .invalidResponse, .callNotFound:
            self.init(error.code.description, message, .unavailable)
        default: return nil
        }
    }

    /// Returns an error with its own exit code.
    static func mapped(_ error: any Error) -> any Error { (error as? ApprovalError).map { Self($0) } ?? error }
}
