import Basics
import ExactJSON
import MobileToken

/// How a command failed: what people are told, what programs are told, and the exit code.
struct Failure {
    /// The name of the kind of failure, by which a program tells it from others.
    let code: String
    let message: String
    let exitCode: ExitCode
    private let error: MobileTokenError?
    private let doubts: [OperationReview.Doubt]

    /// Describes the error that ended a command.
    init(_ error: any Error) {
        self.error = error as? MobileTokenError
        self.doubts = (error as? UnacceptedDoubts)?.doubts ?? []
        switch error {
        case let error as UsageError: (self.code, self.message, self.exitCode) = ("usage", error.message, .usage)
        case let error as NotFound:
            (self.code, self.message, self.exitCode) = ("notFound", "the server knows no \(error.what)", .notFound)
        case let error as UnacceptedDoubts:
            (self.code, self.message, self.exitCode) = ("doubts", error.message, .doubtful)
        case is CancellationError:
            (self.code, self.message, self.exitCode) = ("interrupted", "interrupted", .interrupted)
        case let error as MobileTokenError:
            (self.code, self.message, self.exitCode) = ("\(error.code)", "\(error)", ExitCode(error))
        default: (self.code, self.message, self.exitCode) = ("unexpected", "\(error)", .refused)
        }
    }

    /// The failure as `--json` shows it, on standard error. Members are added in later versions, never renamed or removed;
    /// what is not known is `null`.
    var document: JSONValue {
        let attempts = self.error?.remainingAttempts
        var document: JSONObject = [
            "error": [
                "code": .string(self.code),
                "message": .string(self.error?.message ?? self.message),
                "serverCode": .optional(self.error?.serverCode),
                "httpStatus": self.error?.httpStatus.map { .number(JSONNumber($0)) } ?? .null,
                "retryAfterSeconds": self.error?.retryAfter.map { .number(JSONNumber($0.roundedUpSeconds)) } ?? .null,
                "remainingAttempts": attempts.map { .number(JSONNumber($0)) } ?? .null,
                "exitCode": .number(JSONNumber(self.exitCode.rawValue)),
            ]
        ]
        if !self.doubts.isEmpty { document["doubts"] = .array(self.doubts.map(\.document)) }
        return .object(document)
    }
}
