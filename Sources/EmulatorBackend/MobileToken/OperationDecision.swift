import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The device's decisions, in the order in which real servers look at a request: the code, the operation's identifier, the
/// activation's flags, the operation's state, and only then what was approved.
enum OperationDecision {
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

    // MARK: Approving

    private static func approve(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let authenticated: AuthenticatedRequest
        do {
            let demand = CodeDemand(uriID: "/operation/authorize", types: .onlineFactors)
            authenticated = try bank.authenticate(&context, demand, dialect: .mobileToken)
        } catch {
            throw try Self.countingFailure(of: error, &bank, &context)
        }
        let activation = authenticated.activation
        let request = try ApprovalRequest(context, keepsDeviceData: bank.profile.keepsMobileTokenData)
        try Self.requireVerifiedUser(of: activation)
        let operation = try Self.decidableOperation(bank, request.id, activation)
        let data = try request.object.string("data")
        var trace = DecisionTrace(of: context.request)
        trace.add(activation, mobileTokenData: request.mobileTokenData)
        trace.add(factors: authenticated.type, proximityCode: request.proximityCode)
        let approval = ServerOperation.Approval(
            userID: activation.userID,
            applicationID: activation.applicationID,
            activationID: activation.id,
            data: data,
            factors: authenticated.type,
            proximityCodeIsRight: bank.proximityCode(of: operation)?.accepts(request.proximityCode, at: context.now)
        )
        guard let objection = operation.objection(to: approval) else {
            bank.state.operations.claim(operation.id, for: activation.userID)
            bank.update(operation.id, &context) { $0.approve(trace, at: $1) }
            return .ok
        }
        throw Self.countingFailure(of: .operationFailed(objection), ofOperation: operation.id, trace, &bank, &context)
    }

    /// A device whose user is still being verified carries a flag, and approves nothing.
    private static func requireVerifiedUser(of activation: ServerActivation) throws(Refusal) {
        let flags = ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"]
        guard let flag = flags.first(where: activation.flags.contains) else { return }
        throw Self.notAuthenticated("the activation has the flag \(flag)")
    }

    /// Counts a failed authentication on the operation that the request names.
    ///
    /// - Throws: A refusal when no such operation waits: real servers then say that, not that authentication failed.
    private static func countingFailure(
        of refusal: Refusal,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> Refusal {
        guard let id = try? context.requestObject().string("id") else { return refusal }
        guard let status = bank.state.operations[id]?.status else {
            throw .invalidOperation("there is no such operation, and \(refusal.reason)")
        }
        guard status == .pending else {
            throw .invalidOperation("the operation is \(status.rawValue), and \(refusal.reason)")
        }
        return Self.countingFailure(of: refusal, ofOperation: id, DecisionTrace(of: context.request), &bank, &context)
    }

    /// The last failure that is allowed turns into the refusal of a failed operation.
    private static func countingFailure(
        of refusal: Refusal,
        ofOperation id: String,
        _ trace: DecisionTrace,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) -> Refusal {
        bank.update(id, &context) { $0.countFailure(trace, at: $1) }
        guard bank.state.operations[id]?.status == .failed else { return refusal }
        let failed = Refusal.notPending(.failed)
        return Refusal(
            failed.status,
            failed.code,
            failed.message,
            because: "\(refusal.reason); it was the last attempt of the operation"
        )
    }

    // MARK: Rejecting

    private static func decline(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let demand = CodeDemand(uriID: "/operation/cancel", types: [.possession])
        let activation = try bank.authenticate(&context, demand, dialect: .mobileToken).activation
        guard let request = try context.optionalRequestObject() else {
            throw Self.notAuthenticated("the request object is missing")
        }
        let (id, reason) = (try request.string("id"), try request.optionalString("reason"))
        let deviceData = try request.optionalObject("mobileTokenData")
        let operation = try Self.decidableOperation(bank, id, activation)
        // Neither the factors nor the activation that an operation is bound to matter to a rejection.
        if let objection = operation.objection(toUser: activation.userID, ofApplication: activation.applicationID) {
            throw .operationFailed(objection)
        }
        var trace = DecisionTrace(of: context.request)
        trace.add(activation, mobileTokenData: bank.profile.keepsMobileTokenData ? deviceData : nil)
        trace.add(rejectReason: reason)
        bank.state.operations.claim(operation.id, for: activation.userID)
        bank.update(operation.id, &context) { $0.reject(trace, at: $1) }
        return .ok
    }
}

extension OperationDecision {
    /// Returns an operation that can still be decided, and by devices with the activation's flags.
    private static func decidableOperation(_ bank: Backend, _ id: String, _ activation: ServerActivation)
        throws(Refusal) -> ServerOperation
    {
        let operation = try OperationEndpoints.pendingOperation(bank, id)
        guard let flag = operation.activationFlag, !activation.flags.contains(where: { $0.isExactly(flag) }) else {
            return operation
        }
        throw Refusal(
            400,
            "OPERATION_REQUIRES_ACTIVATION_FLAG",
            "The operation requires an activation flag",
            because: "the activation does not have the flag \(flag)"
        )
    }

    /// Real servers call it a failed authentication when they cannot tell what is to be decided.
    fileprivate static func notAuthenticated(_ reason: String) -> Refusal {
        .mobileTokenAuthentication(reason)
    }
}

/// The content with which a device approves an operation.
private struct ApprovalRequest {
    let object: JSONObject
    let id: String
    let proximityCode: String?
    let mobileTokenData: JSONObject?

    /// - Parameter keepsDeviceData: `true` if the server keeps the data that devices send about themselves.
    init(_ context: RequestContext, keepsDeviceData: Bool) throws(Refusal) {
        guard let object = try context.optionalRequestObject() else {
            throw OperationDecision.notAuthenticated("the request object is missing")
        }
        let id = try object.optionalString("id")
        let check = try object.optionalObject("proximityCheck")
        if let source = try check?.optionalString("type"), !["QR_CODE", "DEEPLINK"].contains(source) {
            throw .unreadable("'type' of the proximity check is neither QR_CODE nor DEEPLINK")
        }
        let mobileTokenData = try object.optionalObject("mobileTokenData")
        guard let id, !id.isEmpty else { throw OperationDecision.notAuthenticated("'id' is missing") }
        self.object = object
        self.id = id
        self.proximityCode = try check?.optionalString("otp")
        self.mobileTokenData = keepsDeviceData ? mobileTokenData : nil
    }
}

extension EmulatorServerProfile {
    /// Indicates whether servers of the release keep what a device tells of itself when it decides.
    fileprivate var keepsMobileTokenData: Bool { self.release >= .v2_1 }
}
