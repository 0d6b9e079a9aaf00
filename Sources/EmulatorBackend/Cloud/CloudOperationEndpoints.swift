import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Operations, for the bank that asks.
enum CloudOperationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/operations", "Lists operations.", asks: [.userID], gives: .operations, Self.list),
        .cloud(
            "POST",
            "/v2/operations",
            of: .powerAuthCloud,
            adds: .operation,
            "Creates an operation.",
            takes: .required(.newOperation),
            gives: .operation,
            Self.create
        ),
        .cloud(
            "DELETE",
            "/v2/operations/{id}",
            of: .powerAuthCloud,
            adds: .contents,
            "Cancels an operation.",
            asks: [.statusReason],
            gives: .operation,
            Self.cancel
        ),
        .cloud(
            "GET",
            "/v2/operations/{id}",
            of: .powerAuthCloud,
            "Shows an operation.",
            gives: .operation,
            Self.show
        ),
    ]

    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let draft = try OperationDraft(bank, of: request)
        if request["template"]?.string != nil, request["operationType"]?.string != nil {
            context.inspection.noteIgnored("operationType", because: "the template says it")
        }
        let application = try bank.application(namedIn: request)
        let activation = try Self.boundRegistration(bank, of: request)
        let userID = try request.optionalString("userId").flatMap { $0.isEmpty ? nil : $0 } ?? activation?.userID
        let expires = try Self.expiration(bank, of: request, draft, context.now)
        let maximumFailures = try request.optionalInteger("maxFailureCount").map(Int.init(clamping:))
        guard maximumFailures.map({ (1...255).contains($0) }) ?? true else {
            throw .invalid("maxFailureCount", "is not 1 to 255")
        }
        let proximityCheck = try request.optionalBool("proximityCheckEnabled") ?? draft.demandsProximityCheck
        let activationFlag = try request.optionalString("flag", or: "activationFlag")
        let externalID = try request.optionalString("externalId")
        let callbackURL = try request.optionalString("callbackUrl")
        if let callbackURL { try CallbackMessage.check(url: callbackURL, named: "callbackUrl") }
        let language = try request.optionalString("language")
        let isSilent = try request.optionalBool("silent")
        let operation = ServerOperation(
            id: bank.state.randomness.identifier(),
            userID: userID,
            applicationID: application.id,
            activationID: activation?.id,
            activationFlag: activationFlag,
            externalID: externalID,
            callbackURL: callbackURL,
            language: language,
            isSilent: isSilent,
            content: draft.content,
            type: draft.type,
            data: draft.data,
            parameters: draft.parameters.mapValues(ExportableJSON.init),
            allowedSignature: draft.allowedSignature,
            warnsOfFraud: draft.warnsOfFraud,
            created: context.now,
            expires: expires,
            maximumFailures: maximumFailures ?? draft.maximumFailures ?? bank.limits.operationFailures,
            proximitySeed: proximityCheck ? ExportableSecret(bank.state.randomness.secret(16)) : nil
        )
        bank.state.operations.insert(operation)
        context.inspection.note(.created, operation.id)
        context.report(operation, isNew: true)
        return .json(Self.cloudJSON(bank, of: operation, at: context.now))
    }

    /// The registration that alone may decide, if the request names one.
    private static func boundRegistration(
        _ bank: Backend,
        of request: JSONObject
    ) throws(Refusal) -> ServerActivation? {
        guard let id = try request.optionalString("registrationId") else { return nil }
        guard let activation = bank.state.activations[id] else { throw .unknownRegistration }
        if let userID = try request.optionalString("userId"), !activation.userID.isExactly(userID) {
            throw .invalid("registrationId", "is none of the user's registrations", value: .string(id))
        }
        return activation
    }

    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        .json(Self.cloudJSON(bank, of: try Self.addressedOperation(bank, context), at: context.now))
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let userID = context.request.queryValue("userId")
        let listed = bank.state.operations.newestFirst.lazy
            .filter { operation in userID.map { operation.userID?.isExactly($0) == true } ?? true }
            .prefix(1_000)
        return .json(["operations": .array(listed.map { Self.cloudJSON(bank, of: $0, at: context.now) })])
    }

    static func cancel(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let operation = try Self.addressedOperation(bank, context)
        guard operation.status == .pending else { throw .operationStateChange(operation.status) }
        let reason = context.request.queryValue("statusReason")
        bank.update(operation.id, &context) { $0.cancel(reason: reason, at: $1) }
        context.inspection.note(.canceled, operation.id, because: reason)
        return .json(Self.cloudJSON(bank, of: try Self.addressedOperation(bank, context), at: context.now))
    }

    static func addressedOperation(_ bank: Backend, _ context: RequestContext) throws(Refusal) -> ServerOperation {
        guard let id = context.pathArguments.first, let operation = bank.state.operations[id] else {
            throw .unknownOperation
        }
        return operation
    }

    /// An operation as the cloud API shows it. The proximity code is the one of this moment.
    static func cloudJSON(_ bank: Backend, of operation: ServerOperation, at now: Milliseconds) -> JSONValue {
        var object: JSONObject = ["operationId": .string(operation.id)]
        object["userId"] = operation.userID.map { .string($0) }
        object["appId"] = .string(operation.applicationID)
        object["registrationId"] = operation.activationID.map { .string($0) }
        object["externalId"] = operation.externalID.map { .string($0) }
        object["callbackUrl"] = operation.callbackURL.map { .string($0) }
        object["status"] = .string(operation.status.rawValue)
        object["statusReason"] = operation.statusReason.map { .string($0) }
        object["operationType"] = .string(operation.type)
        if case .template(let name) = operation.content { object["template"] = .string(name) }
        object["data"] = .string(operation.data)
        object["parameters"] = .object(JSONObject(byName: operation.parameters))
        object["failureCount"] = .number(JSONNumber(operation.failures))
        object["maxFailureCount"] = .number(JSONNumber(operation.maximumFailures))
        object["language"] = operation.language.map { .string($0) }
        object["flag"] = operation.activationFlag.map { .string($0) }
        object["silent"] = operation.isSilent.map { .bool($0) }
        object["timestampCreated"] = .number(JSONNumber(operation.created))
        object["timestampExpires"] = .number(JSONNumber(operation.expires))
        object["timestampFinalized"] = operation.finalized.map { .number(JSONNumber($0)) }
        if operation.status == .pending, let code = bank.proximityCode(of: operation) {
            object["proximityOtp"] = .string(code.string(at: now))
        }
        if !operation.additionalData.isEmpty {
            object["additionalData"] = .object(operation.shownAdditionalData)
        }
        return .object(object)
    }

    private static func expiration(
        _ bank: Backend,
        of request: JSONObject,
        _ draft: OperationDraft,
        _ now: Milliseconds
    ) throws(Refusal) -> Milliseconds {
        if let expires = try request.optionalTime("timestampExpires", after: now) { return expires }
        if let seconds = try request.optionalInteger("expiresIn") {
            guard (1...31_536_000).contains(seconds) else { throw .invalid("expiresIn", "is out of range") }
            return now + seconds * 1000
        }
        return now + (draft.lifetime ?? bank.limits.operationLifetime).inMilliseconds
    }
}
