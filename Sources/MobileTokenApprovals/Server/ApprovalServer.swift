package import ExactJSON
package import MobileTokenCloud
import PowerAuth

/// The calls of a server that a desk needs. Times are the server's, in milliseconds since 1970.
package protocol ApprovalServer: Sendable {
    /// The longest that a request may take. A creation without an answer cannot arrive any more after it.
    var timeout: Duration { get }
    /// Returns the server's time, by a request that changes nothing; `nil` when it tells none.
    func time() async throws(ServerFailure) -> Int64?
    func create(_ operation: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation>
    func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation>
    func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation>
    func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration>
    /// Returns the content of the offline QR code of an operation for a registration.
    func offlineCode(ofOperation id: String, registration: String) async throws(ServerFailure) -> Dated<String>
}

/// An answer, with the time that the server gave with it.
package struct Dated<Value: Sendable>: Sendable {
    package var value: Value
    /// The header field `Date`; `nil` without one.
    package var date: Int64?

    package init(_ value: Value, date: Int64?) {
        self.value = value
        self.date = date
    }
}

/// An operation to be asked for.
package struct NewApprovalOperation: Sendable, Equatable {
    package var userID: String
    /// Its name is sent, and no more of it.
    package var template: ApprovalTemplate
    package var parameters: [String: String]
    package var language: String?
    package var externalID: String
    package var expires: Int64
}

/// An operation as an authenticated answer shows it.
package struct ApprovalOperation: Sendable, Equatable {
    package var id: String
    package var userID: String?
    package var status: CloudClient.OperationStatus
    package var operationType: String
    package var parameters: [String: JSONValue]
    package var created: Int64
    package var expires: Int64
    /// The data that are signed. The documents promise neither these nor what follows.
    package var data: String?
    package var finalized: Int64?
    package var additionalData: JSONValue?
    /// Of its rejection or its cancellation.
    package var reason: String?

    package init(
        id: String,
        userID: String?,
        status: CloudClient.OperationStatus,
        operationType: String,
        parameters: [String: JSONValue],
        created: Int64,
        expires: Int64,
        data: String? = nil,
        finalized: Int64? = nil,
        additionalData: JSONValue? = nil,
        reason: String? = nil
    ) {
        self.id = id
        self.userID = userID
        self.status = status
        self.operationType = operationType
        self.parameters = parameters
        self.created = created
        self.expires = expires
        self.data = data
        self.finalized = finalized
        self.additionalData = additionalData
        self.reason = reason
    }

    /// The registration that decided.
    var registrationID: String? {
        self.additionalData?["activationId"]?.string ?? self.additionalData?["registrationId"]?.string
    }
    var factors: String? { self.additionalData?["authFactor"]?.string }
    /// The device's own signature of the data, which nobody has checked yet.
    var deviceSignature: String? {
        self.additionalData?["mobileTokenData"]?[OperationSignature.member]?.string.flatMap(Self.plausible)
    }

    /// Returns the device's own signature in the body of a callback.
    static func deviceSignature(inCallback body: JSONView) -> String? {
        body["additionalData"]?["mobileTokenData"]?[OperationSignature.member]?.string.flatMap(Self.plausible)
    }

    private static func plausible(_ signature: String) -> String? { signature.utf8.count <= 16 << 10 ? signature : nil }
}

/// A registration as an authenticated answer shows it.
package struct ApprovingRegistration: Sendable, Equatable {
    package var id: String
    package var userID: String
    package var status: String
    package var created: Int64?

    package init(id: String, userID: String, status: String, created: Int64?) {
        self.id = id
        self.userID = userID
        self.status = status
        self.created = created
    }
}

/// The reason a call has no answer that tells.
package struct ServerFailure: Error, Sendable {
    package enum Kind: Sendable, Equatable {
        /// The server refused in its own words: nothing was changed.
        case refused
        /// It knows no such operation or registration.
        case notFound
        /// It says that the operation is no longer pending.
        case notPending
        /// There is no answer, or none that tells. With `isOutcomeUnknown`, the call may have had its effect.
        case unanswered(isOutcomeUnknown: Bool)
        /// It was canceled by the caller. The call may have had its effect.
        case canceled
    }

    package let kind: Kind
    /// The server's or the client's own code, without credentials.
    package let code: String
    package let message: String
    package let retryAfter: Duration?
    package let date: Int64?
    package let underlying: (any Error)?

    package init(
        _ kind: Kind,
        code: String,
        message: String,
        retryAfter: Duration? = nil,
        date: Int64? = nil,
        underlying: (any Error)? = nil
    ) {
        self.kind = kind
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.date = date
        self.underlying = underlying
    }
}
