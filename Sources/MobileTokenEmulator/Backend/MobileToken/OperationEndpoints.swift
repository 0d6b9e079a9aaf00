internal import Foundation
internal import PowerAuthProtocol

extension Backend {
    mutating func listOperations(_ call: inout Call) throws(Refusal) -> Answer {
        let activation = try self.authenticateToken(&call, dialect: .mobileToken)
        return self.operationList(of: activation, &call) { $0.status == .pending }
    }

    mutating func operationHistory(_ call: inout Call) throws(Refusal) -> Answer {
        let signature = try self.authenticateSignature(
            &call,
            uriID: "/operation/history",
            allowing: .twoFactors,
            dialect: .mobileToken
        )
        _ = try call.json()
        return self.operationList(of: signature.activation, &call) { _ in true }
    }

    private func operationList(
        of activation: ServerActivation,
        _ call: inout Call,
        where isListed: (ServerOperation) -> Bool
    ) -> Answer {
        let language = call.request.header("Accept-Language")
        let operations = self.state.operations.newestFirst(ofUser: activation.userID)
            .lazy.filter { $0.isVisible(to: activation) && isListed($0) }
            .compactMap { self.presented($0, acceptLanguage: language) }
            .prefix(self.limits.listLength)
        return self.timed(.array(Array(operations)), call)
    }

    mutating func operationDetail(_ call: inout Call) throws(Refusal) -> Answer {
        let activation = try self.authenticateToken(&call, dialect: .mobileToken)
        let operation = try self.pendingOperation(try call.requestObject().text("id"), for: activation)
        return try self.answer(showing: operation, call)
    }

    mutating func claimOperation(_ call: inout Call) throws(Refusal) -> Answer {
        let activation = try self.authenticateToken(&call, dialect: .mobileToken)
        var operation = try self.pendingOperation(try call.requestObject().text("id"), for: activation)
        operation.userID = activation.userID
        let answer = try self.answer(showing: operation, call)
        if self.state.operations[id: operation.id]?.userID == nil {
            self.state.operations.claim(operation.id, for: activation.userID)
            call.report(operation)
        }
        return answer
    }

    mutating func authorizeOperation(_ call: inout Call) throws(Refusal) -> Answer {
        let signature: AuthenticatedSignature
        do {
            signature = try self.authenticateSignature(
                &call,
                uriID: "/operation/authorize",
                allowing: .onlineFactors,
                dialect: .mobileToken
            )
        } catch {
            throw self.countingFailure(of: error, &call)
        }
        let request = try call.requestObject()
        let (id, data) = (try request.text("id"), try request.text("data"))
        let code = try request.optionalObject("proximityCheck")
        let proximityCode = try code?.text("otp")
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
                self.isProximityCode(proximityCode, seed: seed, at: call.now)
            },
            mobileTokenData: mobileTokenData.map(JSONValue.object)
        )
        guard let objection = operation.objection(to: approval) else {
            self.update(operation.id, &call) { $0.approve(approval, at: call.now) }
            return .ok
        }
        throw self.countingFailure(of: .operationFailed(objection), ofOperation: operation.id, &call)
    }

    mutating func rejectOperation(_ call: inout Call) throws(Refusal) -> Answer {
        let signature = try self.authenticateSignature(
            &call,
            uriID: "/operation/cancel",
            allowing: [.possession],
            dialect: .mobileToken
        )
        let request = try call.requestObject()
        let (id, reason) = (try request.text("id"), try request.text("reason"))
        let mobileTokenData = try request.optionalObject("mobileTokenData")
        let activation = signature.activation
        let operation = try self.decidableOperation(id, activation)
        guard operation.userID == activation.userID, operation.isVisible(to: activation) else {
            throw .operationFailed("the operation belongs to another user or to nobody yet")
        }
        self.update(operation.id, &call) { operation in
            operation.reject(
                by: activation.id,
                reason: reason,
                mobileTokenData: mobileTokenData.map(JSONValue.object),
                at: call.now
            )
        }
        return .ok
    }
}

extension Backend {
    /// Counts a failed authentication on the operation that the request names, if there is one to decide.
    private mutating func countingFailure(of refusal: Refusal, _ call: inout Call) -> Refusal {
        guard refusal.status == 401, let id = try? call.requestObject().text("id"),
            self.state.operations[id: id]?.status == .pending
        else { return refusal }
        return self.countingFailure(of: refusal, ofOperation: id, &call)
    }

    /// The last failure that is allowed turns into what is told of a failed operation.
    private mutating func countingFailure(
        of refusal: Refusal,
        ofOperation id: String,
        _ call: inout Call
    ) -> Refusal {
        self.update(id, &call) { $0.countFailure(at: call.now) }
        guard self.state.operations[id: id]?.status == .failed else { return refusal }
        let told = Refusal.notPending(.failed)
        return Refusal(
            told.status,
            told.code,
            told.message,
            because: "\(refusal.reason); it was the last attempt of the operation"
        )
    }

    mutating func update(_ id: String, _ call: inout Call, _ change: (inout ServerOperation) -> Void) {
        self.state.operations.update(id, change)
        if let operation = self.state.operations[id: id] { call.report(operation) }
    }

    /// An operation of this identifier that can still be decided, whoever may do so.
    private func decidableOperation(_ id: String, _ activation: ServerActivation) throws(Refusal) -> ServerOperation {
        guard let operation = self.state.operations[id: id] else {
            throw .invalidRequest("There is no such operation")
        }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        if let flag = operation.activationFlag, !activation.flags.contains(flag) {
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
    private func pendingOperation(_ id: String, for activation: ServerActivation) throws(Refusal) -> ServerOperation {
        guard let operation = self.state.operations[id: id], operation.isVisible(to: activation) else {
            throw .invalidRequest("There is no such operation")
        }
        guard operation.status == .pending else { throw .notPending(operation.status) }
        return operation
    }

    private func answer(showing operation: ServerOperation, _ call: Call) throws(Refusal) -> Answer {
        let language = call.request.header("Accept-Language")
        guard let shown = self.presented(operation, acceptLanguage: language) else {
            throw .invalidRequest("The operation's template is not known to this server")
        }
        return self.timed(shown, call)
    }

    /// An answer that tells the server's time, as the operations of the Mobile Token API do.
    private func timed(_ object: JSONValue, _ call: Call) -> Answer {
        Answer(
            body: [
                "status": "OK",
                "currentTimestamp": .string(ISO8601.string(from: Date(milliseconds: call.now))),
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
