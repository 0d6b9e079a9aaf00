import APIDescriptions
import ExactJSON
import MobileTokenCloud

// The codes in PowerAuth Cloud's documentation. Only unknown paths are 404 there.
extension Refusal {
    static let unknownRegistration = Self(400, "ERROR_REGISTRATION_NOT_FOUND", "There is no such registration")
    static let unknownOperation = Self(400, "ERROR_OPERATION_NOT_FOUND", "There is no such operation")

    /// The registration's state forbids the request.
    static func registrationChange(_ message: String, because reason: String? = nil) -> Self {
        Self(400, "ERROR_REGISTRATION_CHANGE", message, because: reason)
    }

    /// Another property of the registration forbids it.
    static func registration(_ message: String, because reason: String? = nil) -> Self {
        Self(400, "ERROR_REGISTRATION", message, because: reason)
    }

    static let registrationInProgress = Self(
        400,
        "ERROR_REGISTRATION_NOT_ALLOWED",
        "Another registration of the user is in progress"
    )

    /// The operation is finished, and can no longer change.
    static func operationStateChange(_ status: ServerOperation.Status) -> Self {
        Self(400, "ERROR_OPERATION_STATE_CHANGE", "The operation is \(status.rawValue)")
    }

    static let malformedOfflineCode = Self(
        400,
        "ERROR_OTP_INVALID",
        "The code is not of its form",
        because: "the offline code is not groups of digits with dashes between them"
    )

    static func authenticationHeader(_ failure: AuthenticationFailure) -> Self {
        Self(400, "ERROR_SIGNATURE_INVALID", "The header cannot be read", because: failure.reason)
    }

    static func tokenHeader(_ failure: AuthenticationFailure) -> Self {
        Self(400, "ERROR_TOKEN_INVALID", "The header cannot be read", because: failure.reason)
    }

    static func pushMessage(_ message: String) -> Self { Self(400, "ERROR_PUSH_MESSAGE", message) }

    static func unknownApplication(_ member: String, _ id: String) -> Self {
        .invalid(member, "names no application", value: .string(id))
    }
}

extension Refusal {
    /// The codes of PowerAuth Cloud for this server's own codes.
    private static let codesOfCloud = ["INVALID_REQUEST": "ERROR_REQUEST", "ERROR_UNAUTHORIZED": "HTTP_401"]

    /// The refusal with PowerAuth Cloud's code.
    var inWordsOfCloud: Self {
        guard let code = Self.codesOfCloud[self.code] else { return self }
        var refusal = Self(self.status, code, self.message, because: self.reason)
        refusal.headers = self.headers
        if code == "ERROR_REQUEST" {
            refusal.details["violations"] = .array(self.violations.map(\.violation))
        }
        return refusal
    }
}

extension Schema.Objection {
    fileprivate var violation: JSONValue {
        ["fieldName": .string(self.member), "invalidValue": self.value ?? .null, "hint": .string(self.hint)]
    }
}
