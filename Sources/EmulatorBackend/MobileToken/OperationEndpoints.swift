import APIDescriptions
import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthProtocol

/// Operations, for the device of the user who decides.
enum OperationEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST",
            "/api/auth/token/app/operation/list",
            "Lists the operations that wait for a decision.",
            shows: .token,
            takes: .ignored,
            gives: .shownOperationsResponse,
            Self.list
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/detail",
            "Shows an operation.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .shownOperationResponse,
            Self.detail
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/detail/claim",
            "Makes an operation the user's own.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .shownOperationResponse,
            Self.claim
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/history",
            "Lists the user's operations.",
            shows: .code,
            takes: .ignored,
            gives: .operationHistoryResponse,
            Self.history
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/authorize",
            adds: .contents,
            "Approves an operation.",
            shows: .code,
            takes: .required(.authorizeRequest),
            gives: .done,
            OperationDecision.authorize
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/cancel",
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
        let (operations, shown) = Self.operations(bank, of: activation, context) { $0.status == .pending }
        for id in shown { context.inspection.note(.shown, id) }
        return Self.timed(operations, context)
    }

    static func history(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let demand = CodeDemand(uriID: "/operation/history", types: .twoFactors)
        let request = try bank.authenticate(&context, demand, dialect: .mobileToken)
        return .object(Self.operations(bank, of: request.activation, context) { _ in true }.shown)
    }

    private static func operations(
        _ bank: Backend,
        of activation: ServerActivation,
        _ context: RequestContext,
        where isListed: (ServerOperation) -> Bool
    ) -> (shown: JSONValue, ids: [String]) {
        let language = context.request.header("Accept-Language")
        var listed: [JSONValue] = []
        var ids: [String] = []
        for operation in bank.state.operations.newestFirst(ofUser: activation.userID)
        where operation.isVisible(to: activation) && isListed(operation) {
            guard listed.count < bank.limits.listLength else { break }
            if let shown = bank.operationTemplates.presented(operation, acceptLanguage: language) {
                listed.append(shown)
                ids.append(operation.id)
            }
        }
        return (.array(listed), ids)
    }

    /// Shows any operation that waits and is the user's, or nobody's: real servers look at nothing else here.
    static func detail(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        let operation = try Self.pendingOperation(bank, try context.requestObject().string("id"))
        guard operation.userID?.isExactly(activation.userID) ?? true else {
            throw .invalidRequest("The operation belongs to another user")
        }
        context.inspection.note(.opened, operation.id)
        return try Self.response(bank, showing: operation, context)
    }

    static func claim(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        var operation = try Self.pendingOperation(bank, try context.requestObject().string("id"))
        guard operation.userID?.isExactly(activation.userID) ?? true else {
            throw .invalidOperation("the operation belongs to another user")
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

    /// Returns an operation that waits for a decision, whoever's it is.
    static func pendingOperation(_ bank: Backend, _ id: String) throws(Refusal) -> ServerOperation {
        guard let operation = bank.state.operations[id] else { throw .invalidOperation("there is no such operation") }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        return operation
    }

    private static func response(_ bank: Backend, showing operation: ServerOperation, _ context: RequestContext)
        throws(Refusal) -> ServerResponse
    {
        let language = context.request.header("Accept-Language")
        guard let shown = bank.operationTemplates.presented(operation, acceptLanguage: language) else {
            throw .invalidRequest("The operation's template is not known to this server")
        }
        return Self.timed(shown, context)
    }

    /// Returns a response with the server's time, as the list and the details of operations have it.
    private static func timed(_ object: JSONValue, _ context: RequestContext) -> ServerResponse {
        .json([
            "status": "OK",
            "currentTimestamp": .string(ISO8601.string(from: Date(milliseconds: context.now))),
            "responseObject": object,
        ]
        )
    }
}
