package import APIDescriptions
import Basics
package import EmulatorMessages
package import ExactJSON
import MobileTokenCloud

/// The reason for refusing a request, and the response.
package struct Refusal: Error {
    package let status: Int
    package let code: String
    /// The message for the client.
    package fileprivate(set) var message: String
    /// The reason for the journal; may say more than the client may know.
    package let reason: String
    /// Further members of the response.
    package var details: JSONObject = [:]
    /// The invalid members of the request, listed by calls of PowerAuth Cloud.
    package var violations: [Schema.Objection] = []
    /// Further header fields of the response.
    package var headers: [(name: String, value: String)] = []
    /// Indicates whether the request was unreadable, for which real servers have no specific response.
    var isUnreadable = false

    package init(_ status: Int, _ code: String, _ message: String, because reason: String? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.reason = reason ?? message
    }

    package var response: ServerResponse {
        var response = ServerResponse.error(
            self.status,
            code: self.code,
            message: self.message,
            details: self.details
        )
        response.headers += self.headers
        return response
    }
}

// Refusals of devices' requests, with a reason for the journal. The codes and messages of the standard endpoints are those the
// reference integration publishes.
extension Refusal {
    static let encryption = because(400, "ERR_ENCRYPTION", "POWER_AUTH_ENCRYPTION_FAILED")
    static let temporaryKey = because(400, "ERR_TEMPORARY_KEY", "POWER_AUTH_TEMPORARY_KEY_FAILURE")
    static let activation = because(400, "ERR_ACTIVATION", "POWER_AUTH_ACTIVATION_INVALID")
    /// A failed authentication. Real servers tell devices no reason, even if the code is valid and the request is not.
    static let authentication = because(401, Self.authenticationCode, "POWER_AUTH_CODE_INVALID")
    /// A failed authentication in the operations of the Mobile Token API.
    static let mobileTokenAuthentication = because(401, "POWERAUTH_AUTH_FAIL", "Authentication failed")
    static let recovery = because(400, "INVALID_RECOVERY_CODE", "POWER_AUTH_RECOVERY_INVALID")
    static let configuration = because(400, "ERR_CONFIG", "POWER_AUTH_CONFIG_ERROR")
    static let serverStatus = because(400, "ERR_STATUS", "POWER_AUTH_STATUS_ERROR")
    static let vault = because(400, "ERR_SECURE_VAULT", "POWER_AUTH_SECURE_VAULT_INVALID")
    static let upgrade = because(400, "ERR_UPGRADE", "POWER_AUTH_UPGRADE_FAILED")
    static let passwordChange = because(400, "ERR_PASSWORD_CHANGE", "POWER_AUTH_PASSWORD_CHANGE_FAILURE")
    static let biometry = because(400, "ERR_BIOMETRY", "POWER_AUTH_BIOMETRY_FAILURE")
    /// There is no such operation, or its state does not allow the request.
    static let invalidOperation = because(400, "INVALID_OPERATION", "Operation not found or is in an unexpected state.")
    static let inboxFailed = because(400, "INBOX_FAILED", "Unable to process inbox request.")
    /// The response of real servers to unexpected situations.
    static let unexpected = because(500, "ERROR_GENERIC", "Unknown error occurred while processing request.")

    /// Returns the maker of refusals with a code and a message, from their reason for the journal.
    private static func because(
        _ status: Int,
        _ code: String,
        _ message: String
    ) -> @Sendable (_ reason: String) -> Self {
        { Self(status, code, message, because: $0) }
    }
}

extension Refusal {
    package static func invalidRequest(_ reason: String) -> Self {
        Self(400, "INVALID_REQUEST", reason)
    }

    /// The request is malformed, or a member has an invalid value for its type.
    static func unreadable(_ reason: String) -> Self {
        var refusal = Self.invalidRequest(reason)
        refusal.isUnreadable = true
        return refusal
    }

    /// A member of the request has an invalid form.
    ///
    /// - Parameter remarks: Further hints for the caller, appended to the message.
    package static func invalid(_ objection: Schema.Objection, beside remarks: [String] = []) -> Self {
        var refusal = Self.invalidRequest(([objection.message] + remarks).joined(separator: "; "))
        refusal.violations = [objection]
        return refusal
    }

    /// A member of the request is not acceptable.
    ///
    /// - Parameter hint: The error, as a continuation of the member's name.
    static func invalid(_ member: String, _ hint: String, value: JSONValue? = nil) -> Self {
        .invalid(Schema.Objection(member: member, hint: hint, value: value))
    }

    /// The refusal in the form of a failed activation. Details for the client stay, and so do errors that are not the client's.
    var asActivation: Self {
        guard self.status == 400, self.details.members.isEmpty else { return self }
        return .activation(self.reason)
    }

    /// Returns a handler whose refusals have the form of a failed activation.
    static func asActivation(_ handler: @escaping Backend.Route.Handler) -> Backend.Route.Handler {
        { (bank, context) throws(Refusal) in
            do throws(Refusal) {
                return try handler(&bank, &context)
            } catch {
                throw error.asActivation
            }
        }
    }

    /// The code of every failed authentication below `/pa`.
    static let authenticationCode = "ERR_AUTHENTICATION"

    /// Returns the refusal with a release's message.
    func inWords(of profile: EmulatorServerProfile) -> Self {
        guard self.code.isExactly(Self.authenticationCode) else { return self }
        var refusal = self
        refusal.message = "POWER_AUTH_\(profile.codeWord)_INVALID"
        return refusal
    }

    /// A member is missing or blank, in version 4.
    static func validation(_ reason: String) -> Self {
        Self(400, "ERR_VALIDATION", reason)
    }

    /// The operation does not allow a decision with a valid code.
    ///
    /// - Parameter decision: The name of the decision in the message.
    static func operationFailed(_ decision: String, _ reason: String) -> Self {
        Self(401, "OPERATION_FAILED", "PowerAuth server operation \(decision) fails", because: reason)
    }

    package static func capacityExceeded(_ message: String) -> Self {
        Self(507, "CAPACITY_EXCEEDED", message)
    }

    /// The refusal for an operation that is no longer pending.
    static func notPending(_ status: ServerOperation.Status) -> Self {
        switch status {
        case .canceled:
            Self(400, "OPERATION_ALREADY_CANCELED", "Operation was already canceled")
        case .failed:
            Self(400, "OPERATION_ALREADY_FAILED", "Operation already failed")
        case .expired:
            Self(400, "OPERATION_EXPIRED", "Operation already expired")
        case .approved, .rejected, .pending:
            Self(400, "OPERATION_ALREADY_FINISHED", "Operation was already completed")
        }
    }

    /// - Parameter thing: The noun for the object, such as `operation`.
    package static func noSuch(_ thing: String) -> Self { Self(404, "ERROR_NOT_FOUND", "There is no such \(thing)") }

    static func notFound(_ path: String) -> Self {
        // A path that a bank uses with powerauth-server itself.
        guard path.split(separator: "/").prefix(3).contains("rest") else {
            return Self(404, "ERROR_NOT_FOUND", "Resource not found.", because: "no such path")
        }
        let message = """
            This server has no API of powerauth-server: a bank's back end finds PowerAuth Cloud under /v2 (/v2/registrations, \
            /v2/operations), tests find /_emulator, and devices /pa and /api
            """
        return Self(404, "ERROR_NOT_FOUND", message)
    }

    package static func wrongMethod(allowed: [String]) -> Self {
        let methods = allowed.joined(separator: ", ")
        var refusal = Self(405, "ERROR_METHOD_NOT_ALLOWED", "Allowed here: \(methods)")
        refusal.isUnreadable = true
        refusal.headers = [("Allow", methods)]
        return refusal
    }

    static var wrongCloudCredentials: Self {
        var refusal = Self(401, "ERROR_UNAUTHORIZED", "User or password is wrong", because: "wrong credentials")
        refusal.headers = [("WWW-Authenticate", "Basic realm=\"emulator\", charset=\"UTF-8\"")]
        return refusal
    }

    package static var wrongContentType: Self {
        var refusal = Self(
            415,
            "INVALID_REQUEST",
            "The content type must be application/json",
            because: "the content type is not JSON"
        )
        refusal.isUnreadable = true
        return refusal
    }
}

extension Optional {
    /// Returns the value, or refuses a request for what is not there.
    ///
    /// - Parameter thing: The noun for the object, such as `operation`.
    package func found(_ thing: String) throws(Refusal) -> Wrapped {
        guard let self else { throw .noSuch(thing) }
        return self
    }
}

/// The form in which an API reports a failed authentication.
enum AuthenticationDialect {
    /// `/pa`, and the push and inbox endpoints of the real servers.
    case powerAuth
    /// The operations of the Mobile Token API.
    case mobileToken

    func refusal(_ failure: AuthenticationFailure) -> Refusal {
        switch self {
        case .powerAuth: .authentication(failure.reason)
        case .mobileToken: .mobileTokenAuthentication(failure.reason)
        }
    }
}

/// The reason for refusing a signature, a code or a token.
struct AuthenticationFailure: Error {
    var reason: String
    /// Indicates whether the header is missing or unreadable.
    let isOfHeader: Bool

    init(_ reason: String, isOfHeader: Bool = false) {
        self.reason = reason
        self.isOfHeader = isOfHeader
    }
}
