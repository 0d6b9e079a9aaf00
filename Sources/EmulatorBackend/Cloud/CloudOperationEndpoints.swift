import Basics
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// Operations, for the bank that asks.
enum CloudOperationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/operations", "Lists operations.", asks: [.userID], gives: .operations, Self.list),
        .cloud(
            "POST",
            "/v2/operations",
            adds: .operation,
            "Creates an operation.",
            takes: .required(.newOperation),
            gives: .operation,
            Self.create
        ),
        .cloud(
            "DELETE",
            "/v2/operations/{id}",
            adds: .contents,
            "Cancels an operation.",
            asks: [.statusReason],
            gives: .operation,
            Self.cancel
        ),
        .cloud("GET", "/v2/operations/{id}", "Shows an operation.", gives: .operation, Self.show),
    ]

    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let draft = try Self.draft(bank, of: request)
        let userID = try request.optionalString("userId").flatMap { $0.isEmpty ? nil : $0 }
        let applicationID = try request.optionalString("appId") ?? bank.defaultApplicationID
        guard bank.state.applications[applicationID] != nil else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        let activationID = try request.optionalString("registrationId")
        if let activationID {
            guard let userID, bank.state.activations[activationID]?.userID.isExactly(userID) == true else {
                throw .invalidRequest("'registrationId' is none of the user's registrations")
            }
        }
        let expires = try Self.expiration(bank, of: request, draft, context.now)
        let maximumFailures = try request.optionalInteger("maxFailureCount").map(Int.init(clamping:))
        guard maximumFailures.map({ (1...255).contains($0) }) ?? true else {
            throw .invalidRequest("'maxFailureCount' is not 1 to 255")
        }
        let proximityCheck = try request.optionalBool("proximityCheckEnabled") ?? draft.demandsProximityCheck
        let activationFlag = try request.optionalString("activationFlag")
        let externalID = try request.optionalString("externalId")
        let callbackURL = try request.optionalString("callbackUrl")
        if let callbackURL { try CallbackMessage.check(url: callbackURL, named: "callbackUrl") }
        let operation = ServerOperation(
            id: bank.state.randomness.identifier(),
            userID: userID,
            applicationID: applicationID,
            activationID: activationID,
            activationFlag: activationFlag,
            externalID: externalID,
            callbackURL: callbackURL,
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
        guard operation.status == .pending else { throw .notPending(operation.status) }
        let reason = context.request.queryValue("statusReason")
        bank.update(operation.id, &context) { $0.cancel(reason: reason, at: $1) }
        context.inspection.note(.canceled, operation.id, because: reason)
        return .json(Self.cloudJSON(bank, of: try Self.addressedOperation(bank, context), at: context.now))
    }

    static func addressedOperation(_ bank: Backend, _ context: RequestContext) throws(Refusal) -> ServerOperation {
        guard let id = context.pathArguments.first, let operation = bank.state.operations[id] else {
            throw Refusal(404, "OPERATION_NOT_FOUND", "There is no such operation")
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
}

/// What an operation is made of before it has an identifier and times.
private struct OperationDraft {
    var content: ServerOperation.Content
    var type: String
    var data: String
    var parameters: [String: JSONValue] = [:]
    var allowedSignature: AllowedSignature
    var lifetime: Double?
    var maximumFailures: Int?
    var demandsProximityCheck = false
    var warnsOfFraud = false
}

extension CloudOperationEndpoints {
    private static func draft(_ bank: Backend, of request: JSONObject) throws(Refusal) -> OperationDraft {
        guard let name = try request.optionalString("template") else { return try Self.customDraft(of: request) }
        guard let template = bank.operationTemplates[name] else {
            let hint = Suggestion.closest(to: name, among: bank.operationTemplates.sorted.map(\.name))
            let question = hint.map { "; did you mean '\($0)'?" } ?? ""
            throw Refusal(400, "TEMPLATE_NOT_FOUND", "There is no template '\(name)'\(question)")
        }
        let parameters = template.completing(try request.valuesByName(of: "parameters"))
        do {
            // Filled in every language now, so that no reader meets a gap later.
            for language in [Language.fallback] + template.texts.keys {
                _ = try template.form(parameters: parameters, language: language)
                _ = try template.filledUI(parameters: parameters, language: language)
            }
            return OperationDraft(
                content: .template(name),
                type: template.operationType,
                data: try template.filledData(parameters: parameters),
                parameters: parameters,
                allowedSignature: template.allowedSignature,
                lifetime: template.lifetime,
                maximumFailures: template.maximumFailures,
                demandsProximityCheck: template.demandsProximityCheck,
                warnsOfFraud: template.warnsOfFraud
            )
        } catch {
            throw .invalidRequest(error.message)
        }
    }

    /// An operation with a body of its own in place of a template.
    private static func customDraft(of request: JSONObject) throws(Refusal) -> OperationDraft {
        let type = try request.string("operationType", or: "name")
        let data = try request.string("data")
        guard let formData = try request.optionalObject("formData") else {
            throw .invalidRequest("'formData' is missing")
        }
        _ = try (formData.string("title"), formData.string("message"))
        var allowed = AllowedSignature(kind: .twoFactors, variants: [.possessionKnowledge, .possessionBiometry])
        if let asked = try request.optionalObject("allowedSignatureType") {
            guard let known = AllowedSignature(.object(asked)) else {
                throw .invalidRequest("'allowedSignatureType' is not known")
            }
            allowed = known
        }
        let ui = try request.optionalObject("ui")
        return OperationDraft(
            content: .custom(
                formData: ExportableJSON(.object(formData)),
                ui: ui.map { ExportableJSON(.object($0)) }
            ),
            type: type,
            data: data,
            parameters: try request.valuesByName(of: "parameters"),
            allowedSignature: allowed
        )
    }

    private static func expiration(
        _ bank: Backend,
        of request: JSONObject,
        _ draft: OperationDraft,
        _ now: Milliseconds
    ) throws(Refusal) -> Milliseconds {
        if let expires = try request.optionalInteger("timestampExpires") {
            guard expires > now else { throw .invalidRequest("'timestampExpires' is not in the future") }
            // No clock shows more, and sums with it must not overflow.
            guard expires <= Date.shownByClocks.upperBound.milliseconds else {
                throw .invalidRequest("'timestampExpires' is out of range")
            }
            return expires
        }
        if let seconds = try request.optionalInteger("expiresIn") {
            guard (1...31_536_000).contains(seconds) else { throw .invalidRequest("'expiresIn' is out of range") }
            return now + seconds * 1000
        }
        return now + (draft.lifetime ?? bank.limits.operationLifetime).inMilliseconds
    }
}
