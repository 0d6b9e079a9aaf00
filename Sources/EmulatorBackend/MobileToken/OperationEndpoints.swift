internal import Basics
internal import EmulatorMessages
internal import ExactJSON
internal import Foundation
internal import PowerAuthProtocol

extension Backend {
    mutating func listOperations(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .mobileToken)
        _ = try context.json()
        return self.operationList(of: activation, context) { $0.status == .pending }
    }

    mutating func operationHistory(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature = try self.authenticateSignature(
            &context,
            uriID: "/operation/history",
            allowing: .twoFactors,
            dialect: .mobileToken
        )
        _ = try context.json()
        return self.operationList(of: signature.activation, context) { _ in true }
    }

    private func operationList(
        of activation: ServerActivation,
        _ context: RequestContext,
        where isListed: (ServerOperation) -> Bool
    ) -> ServerResponse {
        let language = context.request.header("Accept-Language")
        var listed: [JSONValue] = []
        for operation in self.state.operations.newestFirst(ofUser: activation.userID)
        where operation.isVisible(to: activation) && isListed(operation) {
            guard listed.count < self.limits.listLength else { break }
            if let shown = self.presented(operation, acceptLanguage: language) { listed.append(shown) }
        }
        return self.timed(.array(listed), context)
    }

    mutating func operationDetail(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .mobileToken)
        let operation = try self.pendingOperation(try context.requestObject().string("id"), for: activation)
        return try self.answer(showing: operation, context)
    }

    mutating func claimOperation(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .mobileToken)
        var operation = try self.pendingOperation(try context.requestObject().string("id"), for: activation)
        operation.userID = activation.userID
        let answer = try self.answer(showing: operation, context)
        if self.state.operations[operation.id]?.userID == nil {
            self.state.operations.claim(operation.id, for: activation.userID)
            context.report(operation)
        }
        return answer
    }

    mutating func authorizeOperation(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature: AuthenticatedSignature
        do {
            signature = try self.authenticateSignature(
                &context,
                uriID: "/operation/authorize",
                allowing: .onlineFactors,
                dialect: .mobileToken
            )
        } catch {
            throw self.countingFailure(of: error, &context)
        }
        let request = try context.requestObject()
        let (id, data) = (try request.string("id"), try request.string("data"))
        let code = try request.optionalObject("proximityCheck")
        let proximityCode = try code?.string("otp")
        if let source = try code?.string("type"), !["QR_CODE", "DEEPLINK"].contains(source) {
            throw .invalidRequest("'type' of the proximity check is neither QR_CODE nor DEEPLINK")
        }
        let mobileTokenData = try request.optionalObject("mobileTokenData")
        let activation = signature.activation
        try self.refuseUnverifiedDevice(activation)
        let operation = try self.decidableOperation(id, activation)
        let approval = ServerOperation.Approval(
            userID: activation.userID,
            applicationID: activation.applicationID,
            activationID: activation.id,
            data: data,
            factors: signature.type,
            proximityCodeIsRight: operation.proximitySeed.map { seed in
                self.isProximityCode(proximityCode, seed: seed, at: context.now)
            },
            mobileTokenData: mobileTokenData.map(JSONValue.object)
        )
        guard let objection = operation.objection(to: approval) else {
            self.update(operation.id, &context) { $0.approve(approval, at: $1) }
            return .ok
        }
        throw self.countingFailure(of: .operationFailed(objection), ofOperation: operation.id, &context)
    }

    mutating func rejectOperation(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature = try self.authenticateSignature(
            &context,
            uriID: "/operation/cancel",
            allowing: [.possession],
            dialect: .mobileToken
        )
        let request = try context.requestObject()
        let (id, reason) = (try request.string("id"), try request.string("reason"))
        let mobileTokenData = try request.optionalObject("mobileTokenData")
        let activation = signature.activation
        let operation = try self.decidableOperation(id, activation)
        guard operation.userID?.isExactly(activation.userID) == true, operation.isVisible(to: activation) else {
            throw .operationFailed("the operation belongs to another user or to nobody yet")
        }
        self.update(operation.id, &context) { operation, now in
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

extension Backend {
    /// Counts a failed authentication on the operation that the request names, if there is one to decide.
    private mutating func countingFailure(of refusal: Refusal, _ context: inout RequestContext) -> Refusal {
        guard refusal.status == 401, let id = try? context.requestObject().string("id"),
            self.state.operations[id]?.status == .pending
        else { return refusal }
        return self.countingFailure(of: refusal, ofOperation: id, &context)
    }

    /// The last failure that is allowed turns into what is told of a failed operation.
    private mutating func countingFailure(
        of refusal: Refusal,
        ofOperation id: String,
        _ context: inout RequestContext
    ) -> Refusal {
        self.update(id, &context) { $0.countFailure(at: $1) }
        guard self.state.operations[id]?.status == .failed else { return refusal }
        let told = Refusal.notPending(.failed)
        return Refusal(
            told.status,
            told.code,
            told.message,
            because: "\(refusal.reason); it was the last attempt of the operation"
        )
    }

    mutating func update(
        _ id: String,
        _ context: inout RequestContext,
        _ change: (inout ServerOperation, Milliseconds) -> Void
    ) {
        let now = context.now
        self.state.operations.update(id) { change(&$0, now) }
        if let operation = self.state.operations[id] { context.report(operation) }
    }

    /// An operation of this identifier that can still be decided, whoever may do so.
    private func decidableOperation(_ id: String, _ activation: ServerActivation) throws(Refusal)
        -> ServerOperation
    {
        guard let operation = self.state.operations[id] else {
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

    /// An operation that the activation may see and that is not finished.
    private func pendingOperation(_ id: String, for activation: ServerActivation) throws(Refusal)
        -> ServerOperation
    {
        guard let operation = self.state.operations[id], operation.isVisible(to: activation) else {
            throw .invalidRequest("There is no such operation")
        }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        return operation
    }

    private func answer(showing operation: ServerOperation, _ context: RequestContext) throws(Refusal) -> ServerResponse
    {
        let language = context.request.header("Accept-Language")
        guard let shown = self.presented(operation, acceptLanguage: language) else {
            throw .invalidRequest("The operation's template is not known to this server")
        }
        return self.timed(shown, context)
    }

    /// An answer that tells the server's time, as the operations of the Mobile Token API do.
    private func timed(_ object: JSONValue, _ context: RequestContext) -> ServerResponse {
        .json([
            "status": "OK",
            "currentTimestamp": .string(ISO8601.string(from: Date(milliseconds: context.now))),
            "responseObject": object,
        ]
        )
    }

    /// Devices whose user is still being verified carry a flag and decide nothing.
    func refuseUnverifiedDevice(_ activation: ServerActivation) throws(Refusal) {
        let flags = ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"]
        if let flag = flags.first(where: activation.flags.contains) {
            throw .invalidActivation("the activation has the flag \(flag)")
        }
    }
}
