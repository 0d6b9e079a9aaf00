import Basics
import ExactJSON
import MobileTokenCloud

/// Operations, for the bank.
enum CloudOperationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.listOperations, Self.list),
        .cloud(CloudAPI.createOperation, adds: .operation, Self.create),
        .cloud(CloudAPI.cancelOperation, adds: .contents, Self.cancel),
        .cloud(CloudAPI.showOperation) { (bank, id, context) throws(Refusal) in
            CloudClient.Operation(bank, try bank.operation(id, &context), at: context.now)
        },
    ]

    private static func create(
        _ bank: inout Backend,
        _ request: CloudClient.NewOperation,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Operation {
        context.userID = request.userID
        let draft = try OperationDraft(bank, of: request, &context)
        if request.templateName != nil, request.operationType != nil {
            context.inspection.noteIgnored("operationType", because: "the template says it")
        }
        let application = try bank.application(named: request.applicationID)
        let activation = try Self.boundRegistration(bank, of: request)
        let expires = try Self.expiration(bank, of: request, draft, context.now)
        if let url = request.callbackURL { try CallbackMessage.check(url: url, named: "callbackUrl") }
        let operation = ServerOperation(
            id: bank.state.randomness.identifier(),
            userID: request.userID ?? activation?.userID,
            applicationID: application.id,
            activationID: activation?.id,
            activationFlag: request.flag ?? request.activationFlag,
            externalID: request.externalID,
            callbackURL: request.callbackURL,
            language: request.language,
            isSilent: request.isSilent,
            content: draft.content,
            type: draft.type,
            data: draft.data,
            parameters: draft.parameters.mapValues(ExportableJSON.init),
            allowedSignature: draft.allowedSignature,
            riskFlags: draft.riskFlags,
            created: context.now,
            expires: expires,
            maximumFailures: request.maximumFailures ?? draft.maximumFailures ?? bank.limits.operationFailures,
            proximitySeed: request.demandsProximityCheck ?? draft.demandsProximityCheck
                ? ExportableSecret(bank.state.randomness.secret(16)) : nil
        )
        bank.state.operations.insert(operation)
        context.inspection.note(.created, operation.id)
        context.report(operation, isNew: true)
        return CloudClient.Operation(bank, operation, at: context.now)
    }

    /// Returns the only registration that may decide, if the request names one.
    private static func boundRegistration(
        _ bank: Backend,
        of request: CloudClient.NewOperation
    ) throws(Refusal) -> ServerActivation? {
        guard let id = request.registrationID else { return nil }
        guard let activation = bank.state.activations[id] else { throw .unknownRegistration }
        if let userID = request.userID, !activation.userID.isExactly(userID) {
            throw .invalid("registrationId", "is none of the user's registrations", value: .string(id))
        }
        return activation
    }

    private static func list(
        _ bank: inout Backend,
        _ userID: String?,
        _ context: inout RequestContext
    ) -> [CloudClient.Operation] {
        let now = context.now
        let listed = bank.state.operations.newestFirst.lazy
            .filter { operation in userID.map { operation.userID?.isExactly($0) == true } ?? true }
            .prefix(1_000)
        context.userID = userID
        for operation in listed.prefix(100) { context.inspection.mention(operation.id) }
        return listed.map { [bank] in CloudClient.Operation(bank, $0, at: now) }
    }

    private static func cancel(
        _ bank: inout Backend,
        _ input: (String, String?),
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Operation {
        let (id, reason) = input
        let operation = try bank.operation(id, &context)
        guard operation.status == .pending else { throw .operationStateChange(operation.status) }
        bank.update(operation.id, &context) { $0.cancel(reason: reason, at: $1) }
        context.inspection.note(.canceled, operation.id, because: reason)
        return CloudClient.Operation(bank, try bank.operation(id, &context), at: context.now)
    }

    private static func expiration(
        _ bank: Backend,
        of request: CloudClient.NewOperation,
        _ draft: OperationDraft,
        _ now: Milliseconds
    ) throws(Refusal) -> Milliseconds {
        if let expires = try request.expiresMilliseconds?.checked(as: "timestampExpires", after: now) { return expires }
        if let seconds = request.lifetime { return now + seconds * 1000 }
        return now + (draft.lifetime ?? bank.limits.operationLifetime).inMilliseconds
    }
}

extension Backend {
    /// Returns the operation of a call, and mentions it in the journal.
    func operation(_ id: String, _ context: inout RequestContext) throws(Refusal) -> ServerOperation {
        guard let operation = self.state.operations[id] else { throw .unknownOperation }
        context.inspection.mention(operation.id)
        return operation
    }
}

extension CloudClient.Operation {
    /// Creates the cloud API's form of an operation, with its current proximity code.
    package init(_ bank: Backend, _ operation: ServerOperation, at now: Milliseconds) {
        self.init(
            id: operation.id,
            status: .init(rawValue: operation.status.rawValue),
            operationType: operation.type,
            failures: (operation.failures, operation.maximumFailures),
            created: operation.created,
            expires: operation.expires
        )
        self.userID = operation.userID
        self.applicationID = operation.applicationID
        self.boundRegistrationID = operation.activationID
        self.externalID = operation.externalID
        self.callbackURL = operation.callbackURL
        self.statusReason = operation.statusReason
        if case .template(let name) = operation.content { self.template = name }
        self.data = operation.data
        self.language = operation.language
        self.flag = operation.activationFlag
        self.isSilent = operation.isSilent
        self.allParameters = operation.parameters.mapValues(\.value)
        self.finalizedMilliseconds = operation.finalized
        if operation.status == .pending { self.proximityCode = bank.proximityCode(of: operation)?.string(at: now) }
        if !operation.additionalData.isEmpty { self.additionalData = .object(operation.shownAdditionalData) }
    }
}
