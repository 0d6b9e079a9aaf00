import Basics
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

/// A device's decisions, checked in the order of real servers: the code, the operation's identifier, the activation's flags, the
/// operation's state, and finally the approved content.
enum OperationDecision {
    static func authorize(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        try Self.noting(.approved, or: .approvalRefused, &bank, &context, Self.approve)
    }

    static func reject(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        try Self.noting(.rejected, or: .rejectionRefused, &bank, &context, Self.decline)
    }

    /// Records an attempt to decide the operation that the request names, if there is one.
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
        let demand = SignaturePolicy(uriID: "/operation/authorize", types: .onlineFactors)
        let outcome = bank.attempt(&context, demand, dialect: .mobileToken)
        let request = try ApprovalRequest(
            context.optionalRequestObject(),
            keepsDeviceData: bank.profile.keepsMobileTokenData
        )
        let authenticated: AuthenticatedRequest
        do throws(Refusal) { authenticated = try outcome.get() } catch {
            throw try Self.countingFailure(of: error, request.id, &bank, &context)
        }
        guard let id = request.id else { throw Self.notAuthenticated("the request object or 'id' is missing") }
        let activation = authenticated.activation
        try Self.requireVerifiedUser(of: activation)
        let operation = try Self.decidableOperation(bank, id, activation, absence: Self.absence)
        guard let data = request.data else { throw .unreadable("'data' is missing") }
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
        throw Self.countingFailure(
            of: .operationFailed("approval", objection),
            ofOperation: operation.id,
            trace,
            &bank,
            &context
        )
    }

    /// Throws if the activation has a flag of a pending user verification, which forbids approvals.
    private static func requireVerifiedUser(of activation: ServerActivation) throws(Refusal) {
        let flags = ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"]
        guard let flag = flags.first(where: activation.flags.contains) else { return }
        throw Self.notAuthenticated("the activation has the flag \(flag)")
    }

    /// Counts a failed authentication on the operation that the request names.
    ///
    /// - Throws: A refusal if no such operation waits: real servers then report that instead of the failed authentication.
    private static func countingFailure(
        of refusal: Refusal,
        _ id: String?,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> Refusal {
        guard let id, !id.isEmpty else { return refusal }
        guard let status = bank.state.operations[id]?.status else {
            throw .invalidOperation("there is no such operation, and \(refusal.reason)")
        }
        guard status == .pending else {
            throw .invalidOperation("the operation is \(status.rawValue), and \(refusal.reason)")
        }
        return Self.countingFailure(of: refusal, ofOperation: id, DecisionTrace(of: context.request), &bank, &context)
    }

    /// Counts a failure; the last allowed one becomes the refusal of a failed operation.
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
        let demand = SignaturePolicy(uriID: "/operation/cancel", types: [.possession])
        let outcome = bank.attempt(&context, demand, dialect: .mobileToken)
        let request = try context.optionalRequestObject()
        let (id, reason) = (try request?.optionalString("id"), try request?.optionalString("reason"))
        let deviceData = bank.profile.keepsMobileTokenData ? try request?.optionalObject("mobileTokenData") : nil
        let activation = try outcome.get().activation
        guard request != nil else { throw Self.notAuthenticated("the request object is missing") }
        let absence = "Operation not found or is in an unexpected state"
        let operation = try Self.decidableOperation(bank, id, activation, absence: absence)
        // A rejection ignores the factors and the activation that an operation is bound to.
        if let objection = operation.objection(toUser: activation.userID, ofApplication: activation.applicationID) {
            throw .operationFailed("rejection", objection)
        }
        var trace = DecisionTrace(of: context.request)
        trace.add(activation, mobileTokenData: deviceData)
        trace.add(rejectReason: reason)
        bank.state.operations.claim(operation.id, for: activation.userID)
        bank.update(operation.id, &context) { $0.reject(trace, at: $1) }
        return .ok
    }
}

extension OperationDecision {
    private static let absence = "Operation not found or is in an unexpected state."

    /// Returns an operation that devices with the activation's flags can still decide.
    private static func decidableOperation(
        _ bank: Backend,
        _ id: String?,
        _ activation: ServerActivation,
        absence: String
    ) throws(Refusal) -> ServerOperation {
        let operation = try OperationEndpoints.pendingOperation(bank, id, absence: absence)
        guard let flag = operation.activationFlag, !activation.flags.contains(where: { $0.isExactly(flag) }) else {
            return operation
        }
        throw Refusal(
            400,
            "OPERATION_REQUIRES_ACTIVATION_FLAG",
            "Operation requires activation flag: \(flag), which is not present on activation.",
            because: "the activation does not have the flag \(flag)"
        )
    }

    /// Returns the failed authentication that real servers report for an unknown operation.
    fileprivate static func notAuthenticated(_ reason: String) -> Refusal {
        .mobileTokenAuthentication(reason)
    }
}

/// The content of an approval, read even if the code is invalid.
private struct ApprovalRequest {
    let id: String?
    let data: String?
    let proximityCode: String?
    let mobileTokenData: JSONObject?

    /// - Parameter keepsDeviceData: `true` if the server stores the device's data about itself; others ignore them.
    init(_ object: JSONObject?, keepsDeviceData: Bool) throws(Refusal) {
        self.id = try object?.optionalString("id")
        self.data = try object?.optionalString("data")
        let check = try object?.optionalObject("proximityCheck")
        _ = try check?.enumeration("type", of: ["QR_CODE", "DEEPLINK"])
        for name in ["timestampReceived", "timestampSent"] {
            guard case .string(let date)? = check?[name], !date.isEmpty else { continue }
            guard ISO8601.date(from: date) != nil else { throw .unreadable("'\(name)' is no date") }
        }
        self.proximityCode = try check?.optionalString("otp")
        self.mobileTokenData = keepsDeviceData ? try object?.optionalObject("mobileTokenData") : nil
    }
}

extension EmulatorServerProfile {
    /// Indicates whether servers of the release store the device's data with a decision.
    fileprivate var keepsMobileTokenData: Bool { self.release >= .v2_1 }
}
