import APIDescriptions
import Basics
package import ExactJSON
package import PowerAuthProtocol

/// The findings about a request beyond its response, for the journal.
package struct RequestInspection: Sendable {
    /// The decrypted body, outermost layer first. Secrets are masked.
    package private(set) var decryptedRequest: [JSONValue] = []
    /// The response's body before its encryption, outermost layer first. Secrets are masked.
    package private(set) var decryptedResponse: [JSONValue] = []
    /// The verified signature or authentication code, if any.
    package var code: CodeInspection?
    package private(set) var notes: [OperationNote] = []
    /// The operations that the request named or listed, whatever its outcome.
    package private(set) var mentioned: [String] = []
    /// The ignored members of the request.
    package private(set) var warnings: [RequestWarning] = []

    package init() {}

    /// The maximum number of reported members: a request may have thousands.
    private static let ignoredMembers = 10

    mutating func noteIgnored(_ members: [UnknownMember]) {
        for member in members.prefix(Self.ignoredMembers) {
            let question = member.suggestion.map { ", did you mean '\($0)'?" } ?? ""
            self.warnings.append(
                RequestWarning(
                    member: member.name,
                    suggestion: member.suggestion,
                    message: "ignored: '\(member.name)'\(question)"
                )
            )
        }
    }

    mutating func noteIgnored(_ member: String, because reason: String) {
        self.warnings.append(
            RequestWarning(member: member, suggestion: nil, message: "ignored: '\(member)', because \(reason)")
        )
    }

    /// Notes template parameters missing from the request: real servers show the user a gap.
    mutating func noteMissing(_ parameters: [String]) {
        for name in parameters.prefix(Self.ignoredMembers) {
            let member = "parameters.\(name.beginning)"
            self.warnings.append(RequestWarning(member: member, suggestion: nil, message: "missing: '\(member)'"))
        }
    }

    /// Notes an opened layer; layers are opened from the outside.
    mutating func noteOpened(_ plaintext: [UInt8]) {
        let limits = JSONLimits(maximumDepth: 64)
        let content =
            (try? JSONValue(parsing: plaintext, limits: limits)) ?? .string("\(plaintext.count) bytes, not JSON")
        self.decryptedRequest.append(content.maskingSecrets())
    }

    /// Notes that the envelope stayed closed, and the request continued without its content.
    mutating func noteUnopened(because reason: String) {
        self.decryptedRequest.append(.string("The envelope was not opened: \(reason)"))
    }

    /// Notes a sealed layer; layers are sealed from the inside.
    mutating func noteSealed(_ content: JSONValue) {
        self.decryptedResponse.insert(content.maskingSecrets(), at: 0)
    }

    package mutating func mention(_ operationID: String) { self.mentioned.append(operationID) }

    /// The operations that the request concerned, each once.
    package var operationIDs: [String] {
        let ids = self.notes.map(\.operationID) + self.mentioned
        var seen: Set<String> = []
        return ids.count < 2 ? ids : ids.filter { seen.insert($0).inserted }
    }

    mutating func note(_ kind: OperationNote.Kind, _ operationID: String, because reason: String? = nil) {
        self.notes.append(OperationNote(kind: kind, operationID: operationID, reason: reason))
    }
}

/// An ignored member of a request, which a real server ignores silently.
package struct RequestWarning: Sendable, Equatable {
    /// The name of the member.
    package let member: String
    /// The probably intended name.
    package let suggestion: String?
    /// The warning for a person.
    package let message: String
}

/// An event that a request caused for an operation.
package struct OperationNote: Sendable, Equatable {
    package typealias Kind = EmulatorOperationMoment

    package let kind: Kind
    package let operationID: String
    /// The reason of a refusal or a cancellation, cut by the journal.
    package let reason: String?

    package init(kind: Kind, operationID: String, reason: String?) {
        (self.kind, self.operationID) = (kind, operationID)
        self.reason = reason.map { String(decoding: $0.utf8.prefix(1024), as: UTF8.self) }
    }
}

/// A verified signature or authentication code.
package struct CodeInspection: Sendable {
    /// The protocol version, such as `3.3`.
    package let version: String
    package let type: SignatureType
    /// The normalized signed data, without the application's secret at the end.
    package let signedData: [UInt8]
    /// The counter before the verification.
    package let counter: UInt64
    /// The diagnosis; `nil` for a valid code.
    package let diagnosis: CodeDiagnosis?
}

extension RequestContext {
    /// - Parameters:
    ///   - activation: The activation before the request.
    ///   - diagnosis: The reason why the code is invalid; `nil` for a valid one.
    mutating func inspect(
        _ code: CodeToVerify,
        of activation: ServerActivation,
        _ version: MajorVersion,
        _ diagnosis: CodeDiagnosis? = nil
    ) {
        guard let keys = activation.device?.keys(of: version) else { return }
        self.inspection.code = CodeInspection(
            version: keys.versionName,
            type: code.type,
            signedData: code.data.normalized,
            counter: keys.steps,
            diagnosis: diagnosis
        )
    }
}

extension JSONValue {
    /// Parts of the names of secret members: keys, tokens, and a person's knowledge.
    private static let secretNames = [
        "secret", "ctrdata", "privatekey", "encryptionkey", "password", "puk", "otp", "recoverycode",
    ]

    /// Parts of the names of members with the credentials of a bank's server or an application.
    private static let credentialNames = ["secret", "password", "privatekey", "sdkconfig", "access_token"]

    /// Returns the value with the credentials of banks' servers and applications masked.
    package func maskingCredentials() -> Self { self.masking(Self.credentialNames) }

    /// Returns the value with all strings and numbers of secrets masked.
    ///
    /// The protocol's secrets are single members; objects with such names (`sharedSecretRequest`) hold public keys.
    func maskingSecrets() -> Self { self.masking(Self.secretNames) }

    private func masking(_ names: [String]) -> Self {
        switch self {
        case .object(let object):
            let members = object.members.map { member in
                JSONObject.Member(
                    key: member.key,
                    value: Self.isSecret(member.key, names) ? member.value.masked(names) : member.value.masking(names)
                )
            }
            return .object(JSONObject(members))
        case .array(let elements): return .array(elements.map { $0.masking(names) })
        default: return self
        }
    }

    private static func isSecret(_ name: String, _ parts: [String]) -> Bool {
        // Lower case may be ASCII where the capital is not.
        let name = name.utf8.allSatisfy { $0 < 0x80 } ? name : name.lowercased()
        return ["pin", "otp", "activationOtp"].contains { name.equalsIgnoringASCIICase($0) }
            || parts.contains { name.utf8.contains(lowercased: $0) }
    }

    /// Returns whether JSON may have a member that ``maskingCredentials()`` masks: most bodies have none, and need not be read.
    package static func mayHoldCredentials(_ json: [UInt8]) -> Bool {
        json.contains { $0 >= 0x80 || $0 == UInt8(ascii: "\\") }
            || Self.credentialNames.contains { json.contains(lowercased: $0) }
            || ["pin", "otp"].contains { json.contains(lowercased: $0) }
    }

    private func masked(_ names: [String]) -> Self {
        switch self {
        case .object: self.masking(names)
        case .array(let elements): .array(elements.map { $0.masked(names) })
        case .string, .number: "(not shown)"
        default: self
        }
    }
}
