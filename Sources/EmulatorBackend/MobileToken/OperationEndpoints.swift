import Basics
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
            takes: .optional(.anyRequest),
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
            takes: .optional(.anyRequest),
            gives: .shownOperationsResponse,
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
            Self.authorize
        ),
        .device(
            "POST",
            "/api/auth/token/app/operation/cancel",
            adds: .contents,
            "Rejects an operation.",
            shows: .code,
            takes: .required(.rejectRequest),
            gives: .done,
            Self.reject
        ),
    ]

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        _ = try context.json()
        let (response, shown) = Self.operationList(bank, of: activation, context) { $0.status == .pending }
        for id in shown { context.inspection.note(.shown, id) }
        return response
    }

    static func history(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let demand = CodeDemand(uriID: "/operation/history", types: .twoFactors)
        let request = try bank.authenticate(&context, demand, dialect: .mobileToken)
        _ = try context.json()
        return Self.operationList(bank, of: request.activation, context) { _ in true }.response
    }

    private static func operationList(
        _ bank: Backend,
        of activation: ServerActivation,
        _ context: RequestContext,
        where isListed: (ServerOperation) -> Bool
    ) -> (response: ServerResponse, ids: [String]) {
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
        return (Self.timed(.array(listed), context), ids)
    }

    static func detail(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        let operation = try Self.pendingOperation(bank, try context.requestObject().string("id"), for: activation)
        context.inspection.note(.opened, operation.id)
        return try Self.response(bank, showing: operation, context)
    }

    static func claim(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .mobileToken)
        var operation = try Self.pendingOperation(bank, try context.requestObject().string("id"), for: activation)
        operation.userID = activation.userID
        let response = try Self.response(bank, showing: operation, context)
        if bank.state.operations[operation.id]?.userID == nil {
            bank.state.operations.claim(operation.id, for: activation.userID)
            context.inspection.note(.claimed, operation.id)
            context.report(operation)
        }
        return response
    }

    static func authorize(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        try Self.noting(.approved, or: .approvalRefused, &bank, &context, Self.approve)
    }

    static func reject(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        try Self.noting(.rejected, or: .rejectionRefused, &bank, &context, Self.decline)
    }

    /// Notes what became of an attempt to decide the operation that the request names, if there is one.
    private static func noting(
        _ success: OperationNote.Kind,
        or failure: OperationNote.Kind,
        _ bank: inout Backend,
        _ context: inout RequestContext,
        _ decide: (inout Backend, inout RequestContext) throws(Refusal) -> ServerResponse
    ) throws(Refusal) -> ServerResponse {
        let named = try? context.requestObject().string("id")
        let id = named.flatMap { bank.state.operations[$0]?.id }
        do throws(Refusal) {
            let response = try decide(&bank, &context)
            if let id { context.inspection.note(success, id) }
            return response
        } catch {
            if let id { context.inspection.note(failure, id, because: error.reason) }
            throw error
        }
    }

    private static func approve(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let authenticated: AuthenticatedRequest
        do {
            let demand = CodeDemand(uriID: "/operation/authorize", types: .onlineFactors)
            authenticated = try bank.authenticate(&context, demand, dialect: .mobileToken)
        } catch {
            throw Self.countingFailure(of: error, &bank, &context)
        }
        let request = try context.requestObject()
        let (id, data) = (try request.string("id"), try request.string("data"))
        let code = try request.optionalObject("proximityCheck")
        let proximityCode = try code?.string("otp")
        if let source = try code?.string("type"), !["QR_CODE", "DEEPLINK"].contains(source) {
            throw .invalidRequest("'type' of the proximity check is neither QR_CODE nor DEEPLINK")
        }
        let mobileTokenData = try request.optionalObject("mobileTokenData")
        let activation = authenticated.activation
        try activation.requireVerifiedUser()
        let operation = try Self.decidableOperation(bank, id, activation)
        let approval = ServerOperation.Approval(
            userID: activation.userID,
            applicationID: activation.applicationID,
            activationID: activation.id,
            data: data,
            factors: authenticated.type,
            proximityCodeIsRight: bank.proximityCode(of: operation)?.accepts(proximityCode, at: context.now),
            mobileTokenData: mobileTokenData.map(JSONValue.object)
        )
        guard let objection = operation.objection(to: approval) else {
            bank.update(operation.id, &context) { $0.approve(approval, at: $1) }
            return .ok
        }
        throw Self.countingFailure(of: .operationFailed(objection), ofOperation: operation.id, &bank, &context)
    }

    private static func decline(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let demand = CodeDemand(uriID: "/operation/cancel", types: [.possession])
        let activation = try bank.authenticate(&context, demand, dialect: .mobileToken).activation
        let request = try context.requestObject()
        let (id, reason) = (try request.string("id"), try request.string("reason"))
        let mobileTokenData = try request.optionalObject("mobileTokenData")
        let operation = try Self.decidableOperation(bank, id, activation)
        guard operation.userID?.isExactly(activation.userID) == true, operation.isVisible(to: activation) else {
            throw .operationFailed("the operation belongs to another user or to nobody yet")
        }
        bank.update(operation.id, &context) { operation, now in
            operation.reject(
                by: activation.id,
                reason: reason,
                mobileTokenData: mobileTokenData.map(JSONValue.object),
                at: now
            )
        }
        return .ok
    }
}

extension OperationEndpoints {
    /// Counts a failed authentication on the operation that the request names, if there is one to decide.
    private static func countingFailure(
        of refusal: Refusal,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) -> Refusal {
        guard refusal.status == 401, let id = try? context.requestObject().string("id"),
            bank.state.operations[id]?.status == .pending
        else { return refusal }
        return Self.countingFailure(of: refusal, ofOperation: id, &bank, &context)
    }

    /// The last failure that is allowed turns into the refusal of a failed operation.
    private static func countingFailure(
        of refusal: Refusal,
        ofOperation id: String,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) -> Refusal {
        bank.update(id, &context) { $0.countFailure(at: $1) }
        guard bank.state.operations[id]?.status == .failed else { return refusal }
        let failed = Refusal.notPending(.failed)
        return Refusal(
            failed.status,
            failed.code,
            failed.message,
            because: "\(refusal.reason); it was the last attempt of the operation"
        )
    }

    /// Returns an operation that can still be decided, by whichever user.
    private static func decidableOperation(_ bank: Backend, _ id: String, _ activation: ServerActivation)
        throws(Refusal)
        -> ServerOperation
    {
        guard let operation = bank.state.operations[id] else {
            throw .invalidRequest("There is no such operation")
        }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        if let flag = operation.activationFlag, !activation.flags.contains(where: { $0.isExactly(flag) }) {
            throw Refusal(
                400,
                "OPERATION_REQUIRES_ACTIVATION_FLAG",
                "The operation requires an activation flag",
                because: "the activation does not have the flag \(flag)"
            )
        }
        return operation
    }

    /// Returns an operation that the activation may see and that is not finished.
    private static func pendingOperation(_ bank: Backend, _ id: String, for activation: ServerActivation)
        throws(Refusal)
        -> ServerOperation
    {
        guard let operation = bank.state.operations[id], operation.isVisible(to: activation) else {
            throw .invalidRequest("There is no such operation")
        }
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

    /// Returns a response with the server's time, as the operations of the Mobile Token API do.
    private static func timed(_ object: JSONValue, _ context: RequestContext) -> ServerResponse {
        .json([
            "status": "OK",
            "currentTimestamp": .string(ISO8601.string(from: Date(milliseconds: context.now))),
            "responseObject": object,
        ]
        )
    }
}
