package import APIDescriptions
import CloudCalls
package import EmulatorMessages
package import ExactJSON
import PowerAuthProtocol

/// The reason for which a request is not granted, and the response that it gets.
package struct Refusal: Error {
    package let status: Int
    package let code: String
    /// For the client.
    package let message: String
    /// For the journal; may say more than the client may know.
    package let reason: String
    /// Further members of the response.
    package var details: JSONObject = [:]
    /// The mistakes in members of the request; calls of PowerAuth Cloud list them.
    package var violations: [Schema.Objection] = []
    /// Further header fields of the response.
    package var headers: [(name: String, value: String)] = []
    /// Indicates whether the request could not even be read. Real servers of release 1.10 have no answer of their own to that.
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

// The codes and messages of the standard endpoints are those the reference integration publishes.
extension Refusal {
    package static func invalidRequest(_ reason: String) -> Self {
        Self(400, "INVALID_REQUEST", reason)
    }

    /// The request is malformed, or a member has a value that its type does not have.
    static func unreadable(_ reason: String) -> Self {
        var refusal = Self.invalidRequest(reason)
        refusal.isUnreadable = true
        return refusal
    }

    /// A member of the request that is not of its form.
    ///
    /// - Parameter remarks: Further hints for the caller, which follow in the message.
    package static func invalid(_ objection: Schema.Objection, beside remarks: [String] = []) -> Self {
        var refusal = Self.invalidRequest(([objection.message] + remarks).joined(separator: "; "))
        refusal.violations = [objection]
        return refusal
    }

    /// A member of the request that cannot be taken.
    ///
    /// - Parameter hint: The mistake, in words that follow the name of the member.
    static func invalid(_ member: String, _ hint: String, value: JSONValue? = nil) -> Self {
        .invalid(Schema.Objection(member: member, hint: hint, value: value))
    }

    static func encryption(_ reason: String) -> Self {
        Self(400, "ERR_ENCRYPTION", "POWER_AUTH_ENCRYPTION_FAILED", because: reason)
    }

    static func temporaryKey(_ reason: String) -> Self {
        Self(400, "ERR_TEMPORARY_KEY", "POWER_AUTH_TEMPORARY_KEY_FAILURE", because: reason)
    }

    static func activation(_ reason: String) -> Self {
        Self(400, "ERR_ACTIVATION", "POWER_AUTH_ACTIVATION_INVALID", because: reason)
    }

    /// The same refusal as creating an activation words it, whatever the reason. What a client may learn beside stays, and so
    /// does what is none of the client's mistakes.
    var asActivation: Self {
        guard self.status == 400, self.details.members.isEmpty else { return self }
        return .activation(self.reason)
    }

    /// Returns a handler that refuses in the words of creating an activation.
    static func asActivation(_ handler: @escaping Backend.Route.Handler) -> Backend.Route.Handler {
        { (bank, context) throws(Refusal) in
            do throws(Refusal) {
                return try handler(&bank, &context)
            } catch {
                throw error.asActivation
            }
        }
    }

    /// A failure after a right code.
    ///
    /// - Parameter what: The end of the message.
    static func authentication(_ what: String, _ reason: String) -> Self {
        Self(401, "ERR_AUTHENTICATION", "POWER_AUTH_" + what, because: reason)
    }

    /// A failed authentication in the words of the operations of the Mobile Token API.
    static func mobileTokenAuthentication(_ reason: String) -> Self {
        Self(401, "POWERAUTH_AUTH_FAIL", "Authentication failed", because: reason)
    }

    /// A request whose code is right, and which lacks something else.
    static func requestInvalid(_ reason: String) -> Self { .authentication("REQUEST_INVALID", reason) }

    /// A token that is not made, because its request cannot be opened.
    static func tokenError(_ reason: String) -> Self { .authentication("TOKEN_ERROR", reason) }

    static func recoveryConfirmation(_ reason: String) -> Self { .authentication("RECOVERY_CONFIRM_ERROR", reason) }

    static func recovery(_ reason: String) -> Self {
        Self(400, "INVALID_RECOVERY_CODE", "POWER_AUTH_RECOVERY_INVALID", because: reason)
    }

    static func configuration(_ reason: String) -> Self {
        Self(400, "ERR_CONFIG", "POWER_AUTH_CONFIG_ERROR", because: reason)
    }

    static func serverStatus(_ reason: String) -> Self {
        Self(400, "ERR_STATUS", "POWER_AUTH_STATUS_ERROR", because: reason)
    }

    /// A member is missing or blank, in version 4.
    static func validation(_ reason: String) -> Self {
        Self(400, "ERR_VALIDATION", reason)
    }

    static func vault(_ reason: String) -> Self {
        Self(400, "ERR_SECURE_VAULT", "POWER_AUTH_SECURE_VAULT_INVALID", because: reason)
    }

    static func upgrade(_ reason: String) -> Self {
        Self(400, "ERR_UPGRADE", "POWER_AUTH_UPGRADE_FAILED", because: reason)
    }

    static func passwordChange(_ reason: String) -> Self {
        Self(400, "ERR_PASSWORD_CHANGE", "POWER_AUTH_PASSWORD_CHANGE_FAILURE", because: reason)
    }

    static func biometry(_ reason: String) -> Self {
        Self(400, "ERR_BIOMETRY", "POWER_AUTH_BIOMETRY_FAILURE", because: reason)
    }

    /// There is no such operation, or its state does not allow what was asked for.
    static func invalidOperation(_ reason: String) -> Self {
        Self(400, "INVALID_OPERATION", "There is no such operation, or not in this state", because: reason)
    }

    static func inboxFailed(_ reason: String) -> Self {
        Self(400, "INBOX_FAILED", "The message cannot be had", because: reason)
    }

    static func operationFailed(_ reason: String) -> Self {
        Self(401, "OPERATION_FAILED", "The operation was not approved", because: reason)
    }

    package static func capacityExceeded(_ message: String) -> Self {
        Self(507, "CAPACITY_EXCEEDED", message)
    }

    /// The refusal for an operation that is no longer pending.
    static func notPending(_ status: ServerOperation.Status) -> Self {
        switch status {
        case .canceled:
            Self(400, "OPERATION_ALREADY_CANCELED", "The operation was canceled")
        case .failed:
            Self(400, "OPERATION_ALREADY_FAILED", "The operation has failed")
        case .expired:
            Self(400, "OPERATION_EXPIRED", "The operation has expired")
        case .approved, .rejected, .pending:
            Self(400, "OPERATION_ALREADY_FINISHED", "The operation is finished")
        }
    }

    /// - Parameter thing: The noun for it, such as `operation`.
    package static func noSuch(_ thing: String) -> Self { Self(404, "ERROR_NOT_FOUND", "There is no such \(thing)") }

    static let notFound = Self(404, "ERROR_NOT_FOUND", "No such resource", because: "no such path")

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

    /// The answer that real servers of release 1.10 give to what they did not expect.
    static func unexpected(_ reason: String) -> Self {
        Self(500, "ERROR_GENERIC", "Unknown error occurred", because: reason)
    }
}

/// The way in which an API reports a failed authentication.
enum AuthenticationDialect {
    /// `/pa`, and the push and inbox endpoints of the real servers.
    case powerAuth
    /// The operations of the Mobile Token API.
    case mobileToken

    func refusal(_ failure: AuthenticationFailure, _ profile: EmulatorServerProfile) -> Refusal {
        switch self {
        case .powerAuth:
            Refusal(401, "ERR_AUTHENTICATION", profile.message(of: failure.kind), because: failure.reason)
        case .mobileToken:
            .mobileTokenAuthentication(failure.reason)
        }
    }
}

/// The reason for which a signature, a code or a token was not accepted.
struct AuthenticationFailure: Error {
    /// As far as a client learns it.
    enum Kind {
        /// Nearly all there is: real servers do not tell a missing header from a wrong code.
        case invalid
        /// A header is missing or cannot be read, which clients learn no more of than of a wrong code.
        case header
        /// The type of the code is not the endpoint's, where that is told.
        case type
        /// The code is right, and the request is not.
        case request
    }

    var kind: Kind
    var reason: String

    init(_ reason: String) { self.init(.invalid, reason) }

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}

extension EmulatorServerProfile {
    /// The message of a failed authentication, in the words of the release.
    fileprivate func message(of kind: AuthenticationFailure.Kind) -> String {
        switch kind {
        case .invalid, .header: "POWER_AUTH_\(self.codeWord)_INVALID"
        case .type: "POWER_AUTH_\(self.codeWord)_TYPE_INVALID"
        case .request: "POWER_AUTH_REQUEST_INVALID"
        }
    }
}
