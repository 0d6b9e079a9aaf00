import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud

/// Operations, for the device of the deciding user.
enum OperationEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST /api/auth/token/app/operation/list",
            "Lists the operations that wait for a decision.",
            shows: .token,
            takes: .ignored,
            gives: .shownOperationsResponse,
            Self.list
        ),
        .device(
            "POST /api/auth/token/app/operation/detail",
            "Shows an operation.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .shownOperationResponse,
            Self.detail
        ),
        .device(
            "POST /api/auth/token/app/operation/detail/claim",
            "Makes an operation the user's own.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .shownOperationResponse,
            Self.claim
        ),
        .device(
            "POST /api/auth/token/app/operation/history",
            "Lists the user's operations.",
            shows: .code,
            takes: .ignored,
            gives: .operationHistoryResponse,
            Self.history
        ),
        .device(
            "POST /api/auth/token/app/operation/authorize",
            adds: .contents,
            "Approves an operation.",
            shows: .code,
            takes: .required(.authorizeRequest),
            gives: .done,
            OperationDecision.authorize
        ),
        .device(
            "POST /api/auth/token/app/operation/cancel",
            adds: .contents,
            "Rejects an operation.",
            shows: .code,
            takes: .required(.rejectRequest),
            gives: .done,
            OperationDecision.reject
        ),
    ]

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        let (operations, shown) = try Self.operations(bank, of: activation, context)
        for id in shown { context.inspection.note(.shown, id) }
        return Self.timed(operations, context)
    }

    static func history(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let demand = SignaturePolicy(uriID: "/operation/history", types: .twoFactors)
        let request = try bank.authenticate(&context, demand, dialect: .mobileToken)
        return .object(try Self.operations(bank, of: request.activation, context, isHistory: true).shown)
    }

    private static func operations(
        _ bank: Backend,
        of activation: ServerActivation,
        _ context: RequestContext,
        isHistory: Bool = false
    ) throws(Refusal) -> (shown: JSONValue, ids: [String]) {
        let reader = bank.reader(context, readsHistory: isHistory)
        var listed: [JSONValue] = []
        var ids: [String] = []
        for operation in bank.state.operations.newestFirst(ofUser: activation.userID, pendingOnly: !isHistory)
        where operation.isVisible(to: activation) {
            guard listed.count < bank.limits.listLength else { break }
            if let shown = try bank.operationTemplates.presented(operation, to: reader) {
                listed.append(shown)
                ids.append(operation.id)
            }
        }
        return (.array(listed), ids)
    }

    /// Shows any pending operation of the user or without a user: real servers check nothing else here.
    static func detail(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try IDRequest(context)
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        let operation = try Self.pendingOperation(bank, request.id(), absence: Self.absence)
        guard operation.userID?.isExactly(activation.userID) ?? true else {
            throw Refusal(400, "INVALID_REQUEST", "Invalid request", because: "the operation belongs to another user")
        }
        context.inspection.note(.opened, operation.id)
        return try Self.response(bank, showing: operation, context)
    }

    static func claim(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try IDRequest(context)
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        var operation = try Self.pendingOperation(bank, request.id(), absence: Self.absence)
        guard operation.userID?.isExactly(activation.userID) ?? true else {
            throw Refusal(400, "INVALID_OPERATION", Self.absence, because: "the operation belongs to another user")
        }
        operation.userID = activation.userID
        let response = try Self.response(bank, showing: operation, context)
        if bank.state.operations[operation.id]?.userID == nil {
            bank.state.operations.claim(operation.id, for: activation.userID)
            context.inspection.note(.claimed, operation.id)
            context.report(operation, isTold: false)
        }
        return response
    }

    private static let absence = "No operation was found with the provided identifier."

    /// Returns a pending operation of any user.
    ///
    /// - Parameter absence: The message if there is none.
    static func pendingOperation(
        _ bank: Backend,
        _ id: String?,
        absence: String
    ) throws(Refusal) -> ServerOperation {
        guard let id, !id.isEmpty else {
            let fault = id == nil ? "null" : "empty"
            throw .invalidRequest(
                "Request validation error: Operation ID must not be \(fault) when requesting operation detail"
            )
        }
        guard let operation = bank.state.operations[id] else {
            throw Refusal(400, "INVALID_OPERATION", absence, because: "there is no such operation")
        }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        return operation
    }

    private static func response(_ bank: Backend, showing operation: ServerOperation, _ context: RequestContext)
        throws(Refusal) -> ServerResponse
    {
        guard let shown = try bank.operationTemplates.presented(operation, to: bank.reader(context)) else {
            throw .templateNotFound
        }
        return Self.timed(shown, context)
    }

    /// Returns a response with the server's time, as for the list and the details of operations.
    private static func timed(_ object: JSONValue, _ context: RequestContext) -> ServerResponse {
        .json([
            "status": "OK",
            "currentTimestamp": .string(ISO8601.string(from: Date(milliseconds: context.now))),
            "responseObject": object,
        ]
        )
    }
}

extension Backend {
    /// Returns the sender of a request as a reader of operations.
    func reader(_ context: RequestContext, readsHistory: Bool = false) -> OperationReader {
        let locale = ReaderLocale(acceptLanguage: context.request.header("Accept-Language"))
        return OperationReader(locale: locale, profile: self.profile, readsHistory: readsHistory)
    }
}

/// A request for one object, which real servers read before they authenticate it.
struct IDRequest {
    private let object: JSONObject?
    private let identifier: String?

    init(_ context: RequestContext) throws(Refusal) {
        self.object = try context.optionalRequestObject()
        self.identifier = try self.object?.optionalString("id")
    }

    /// - Throws: The response of real servers to a missing request object, after authentication.
    func id() throws(Refusal) -> String? {
        guard self.object != nil else { throw .unreadable("The request object is missing") }
        return self.identifier
    }
}

extension Refusal {
    /// The refusal of an operation whose template has no texts.
    static let templateNotFound = Self(
        400,
        "INVALID_REQUEST",
        "Template not found",
        because: "the operation's template is not known to this server"
    )
}
