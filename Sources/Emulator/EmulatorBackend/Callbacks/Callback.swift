package import APIDescriptions
import Basics
import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuthProtocol

/// An address of the bank for news of operations and activations.
struct Callback: Sendable, Codable, Equatable {
    typealias Kind = CallbackKind

    var id: String
    let applicationID: String
    var name: String
    var kind: Kind
    /// The name that was given for the kind.
    var typeName: String
    var url: String
    var attributes: [String]
    /// For Basic authentication.
    var user: String?
    var password: String?
    /// For OAuth 2.0, in the place of Basic authentication.
    var oauth: OAuthClient?
    /// The certificate to show.
    var identity: ClientIdentity?
    /// The number of attempts for one delivery.
    var maximumAttempts: Int
}

/// One message for the bank: what is sent, and where to.
package struct CallbackMessage: Sendable, Equatable {
    /// The callback that it is of; `nil` for the address that an operation brought along.
    package var callbackID: String?
    /// Its name.
    package var callbackName: String?
    /// The operation or activation that it tells of: its news arrives in order.
    package var objectID: String?
    package var url: String
    /// The value of the `Authorization` field.
    package var authorization: String?
    /// The OAuth client whose access token stands in that field instead.
    package var oauth: OAuthClient?
    /// The certificate that is shown.
    package var identity: ClientIdentity?
    package var body: [UInt8]
    /// The number of attempts.
    package var maximumAttempts = 1

    /// Refuses an address that no request can be sent to.
    package static func check(url: String, named name: String) throws(Refusal) {
        guard url.utf8.count <= 2048, let parsed = URL(string: url, encodingInvalidCharacters: false),
            ["http", "https"].contains(parsed.scheme), parsed.host()?.isEmpty == false
        else { throw .invalid(name, "is not an address of http or https", value: .string(url)) }
        // The journal shows addresses.
        guard parsed.user() == nil else { throw .invalid(name, "holds credentials, which belong beside it") }
    }
}

extension CallbackMessage {
    /// A message without credentials that is tried once.
    package init(url: String, body: [UInt8]) { self.init(callbackID: nil, url: url, body: body) }
}

// MARK: - Messages

extension Backend {
    /// Returns the messages for the callbacks of an application, in their order.
    func callbackMessages(
        _ kind: Callback.Kind,
        _ applicationID: String,
        of objectID: String,
        telling content: @autoclosure () -> JSONObject
    ) -> [CallbackMessage] {
        guard !self.state.callbacks.isEmpty else { return [] }
        let content = content()
        return self.state.callbacks.keysInOrder.compactMap { self.state.callbacks[$0] }
            .filter { $0.kind == kind && $0.applicationID.isExactly(applicationID) }
            .map { $0.message(of: objectID, content) }
    }
}

extension Callback {
    /// The identifier that a test tells of: of no object.
    static let testedID = "00000000-0000-0000-0000-000000000000"

    func message(of objectID: String?, _ content: JSONObject) -> CallbackMessage {
        CallbackMessage(
            callbackID: self.id,
            callbackName: self.name,
            objectID: objectID,
            url: self.url,
            authorization: self.user.map { BasicCredentials(user: $0, password: self.password ?? "").authorization },
            oauth: self.oauth,
            identity: self.identity,
            body: Self.body(content, self.attributes),
            maximumAttempts: self.maximumAttempts
        )
    }

    /// The type and the identifier, which are always told, and the attributes that were asked for.
    static func body(_ content: JSONObject, _ attributes: [String]) -> [UInt8] {
        let always = content.members.prefix(2)
        let chosen = content.members.dropFirst(2).filter { attributes.contains($0.key) }
        return JSONValue.object(JSONObject(always + chosen)).serialized()
    }
}

extension ServerOperation {
    /// All that can be told: the type and the identifier first.
    var callbackContent: JSONObject {
        [
            "type": .string(Callback.Kind.operation.rawValue),
            "operationId": .string(self.id),
            "userId": .optional(self.userID),
            "applications": .strings([self.applicationID]),
            "operationType": .string(self.type),
            "parameters": .object(JSONObject(byName: self.parameters)),
            "additionalData": .object(self.shownAdditionalData),
            "status": .string(self.status.rawValue),
            "data": .string(self.data),
            "failureCount": .number(JSONNumber(self.failures)),
            "maxFailureCount": .number(JSONNumber(self.maximumFailures)),
            "signatureType": .strings(self.allowedSignature.variants.map { $0.rawValue.uppercased() }),
            "externalId": .optional(self.externalID),
            "timestampCreated": .number(JSONNumber(self.created)),
            "timestampExpires": .number(JSONNumber(self.expires)),
            "timestampFinalized": self.toldTimeOfDecision.map { .number(JSONNumber($0)) } ?? .null,
        ]
    }
}

extension ServerOperation {
    /// The time of the decision. Real servers give none for a canceled or an expired operation.
    private var toldTimeOfDecision: Milliseconds? {
        [.canceled, .expired].contains(self.status) ? nil : self.finalized
    }
}

extension ServerActivation {
    /// All that can be told: the type and the identifier first.
    var callbackContent: JSONObject {
        [
            "type": .string(Callback.Kind.activation.rawValue),
            "activationId": .string(self.id),
            "userId": .string(self.userID),
            "activationName": .optional(self.name),
            "deviceInfo": .optional(self.deviceInfo),
            "platform": .optional(self.platform),
            "protocol": "POWERAUTH",
            "activationFlags": .strings(self.flags),
            "activationStatus": .string(self.status.rawValue),
            "blockedReason": .optional(self.blockedReason),
            "applicationId": .string(self.applicationID),
        ]
    }
}

extension Schema {
    /// The body of a callback of an operation.
    package static let operationCallback = Self.object(
        "OperationCallback",
        [
            .required("type", .oneOf([Callback.Kind.operation.rawValue])), .required("operationId", .string),
            .optional("userId", .string, example: "alice"), .optional("applications", .strings),
            .optional("operationType", .string), .optional("parameters", .open(), "The values by name."),
            .optional("additionalData", .open()),
            .optional("activationFlag", .string, "Never told, though it can be asked for."),
            .optional("status", .oneOf(ServerOperation.Status.self), example: "APPROVED"),
            .optional("data", .string, "The data that is signed."), .optional("failureCount", .count),
            .optional("maxFailureCount", .count), .optional("signatureType", .strings, "The factors that are allowed."),
            .optional("externalId", .string), .optional("timestampCreated", .timestamp),
            .optional("timestampExpires", .timestamp), .optional("timestampFinalized", .timestamp),
        ]
    )

    /// The body of a callback of an activation.
    package static let activationCallback = Self.object(
        "ActivationCallback",
        [
            .required("type", .oneOf([Callback.Kind.activation.rawValue])), .required("activationId", .string),
            .optional("userId", .string, example: "alice"), .optional("activationName", .string),
            .optional("deviceInfo", .string), .optional("platform", .string),
            .optional("protocol", .oneOf(["POWERAUTH"])), .optional("activationFlags", .strings),
            .optional("activationStatus", .oneOf(ServerActivation.Status.self), example: "ACTIVE"),
            .optional("blockedReason", .string), .optional("applicationId", .string),
        ]
    )
}

extension JSONValue {
    fileprivate static func optional(_ string: String?) -> Self { string.map { .string($0) } ?? .null }
}

extension JSONObject {
    /// Members in the order of their names.
    init(byName values: [String: ExportableJSON]) {
        self.init(values.sorted { $0.key < $1.key }.map { Member(key: $0.key, value: $0.value.value) })
    }
}
