import Basics
import ExactJSON
import MobileToken

/// A command's error with its own name and exit code.
package protocol CommandFailure: Error {
    /// The name of the kind of failure, for programs.
    var code: String { get }
    /// A message for a person.
    var message: String { get }
    var exitCode: ExitCode { get }
}

/// The failure of a command: a message for people, a name for programs, and the exit code.
package struct Failure {
    /// The name of the kind of failure, for programs.
    package let code: String
    package let message: String
    /// The relevant options, appended to the message; empty if there are none.
    let hint: String
    package let exitCode: ExitCode
    private let error: MobileTokenError?
    /// The message without code and attempts, which have members of their own.
    private let bareMessage: String
    private let doubts: [OperationReview.Doubt]

    /// Describes the error that ended a command.
    ///
    /// - Parameter options: The names of the command's options.
    package init(_ error: any Error, options: [String] = []) {
        self.error = error as? MobileTokenError
        self.doubts = (error as? UnacceptedDoubts)?.doubts ?? []
        var bareMessage: String?
        switch error {
        case let error as UsageError:
            (self.code, self.message, self.exitCode) = ("usage", error.message.naming(options), .usage)
        case let error as NotFound:
            (self.code, self.message, self.exitCode) = ("notFound", "the server knows no \(error.what)", .notFound)
        case let error as UnacceptedDoubts:
            (self.code, self.message, self.exitCode) = ("doubts", error.message, .doubtful)
        case let error as ConfigurationError:
            (self.code, self.message, self.exitCode) = ("configuration", error.message, .configuration)
        case let error as any CommandFailure:
            (self.code, self.message, self.exitCode) = (error.code, error.message, error.exitCode)
        case is CancellationError:
            (self.code, self.message, self.exitCode) = ("interrupted", "interrupted", .interrupted)
        case let error as MobileTokenError where ExitCode(error) == .usage:
            // In words of the command line, and without the type of the cause.
            let message = error.message.naming(options)
            bareMessage = message
            (self.code, self.exitCode) = ("\(error.code)", .usage)
            self.message = "\(error.code): \(DisplayText.escaped(message))"
        case let error as MobileTokenError:
            (self.code, self.message, self.exitCode) = ("\(error.code)", "\(error)", ExitCode(error))
        default: (self.code, self.message, self.exitCode) = ("unexpected", "\(error)", .refused)
        }
        self.bareMessage = bareMessage ?? self.error?.messageAndConsequence ?? self.message
        let keys = options.filter { $0.utf8.suffix(11).elementsEqual("sealing-key".utf8) }
        let isOfKey = self.error != nil && self.exitCode == .configuration && !keys.isEmpty
        self.hint = isOfKey ? "; see --" + keys.joined(separator: " and --") : ""
    }

    /// The failure in the form of `--json`, for standard error. Later versions add members, but never rename or remove them;
    /// unknown values are `null`.
    var document: JSONValue {
        let attempts = self.error?.remainingAttempts
        var document: JSONObject = [
            "error": [
                "code": .string(self.code),
                "message": .string(self.bareMessage + self.hint),
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

extension String {
    /// Returns a message of the SDK with options in the place of the parameters that they set: `--powerauth-url` for
    /// `powerAuthURL`, and `--url` for `baseURL`, where a command has no option of the whole name.
    fileprivate func naming(_ options: [String]) -> String {
        self.replacing(#/(^|[ ])([a-z]+([A-Z]+[a-z]*)+)/#) { match in
            let name = match.2
            let option = options.sorted { $0.utf8.count > $1.utf8.count }.first { option in
                let letters = option.replacing("-", with: "")
                guard name.lowercased().hasSuffix(letters) else { return false }
                return letters.count == name.count || name.dropLast(letters.count - 1).last?.isUppercase == true
            }
            return option.map { "\(match.1)--\($0)" } ?? String(match.0)
        }
    }
}
