import APIDescriptions
package import ExactJSON
package import PowerAuthProtocol

/// The findings about a request beyond its response: for the reader of the journal.
package struct RequestInspection: Sendable {
    /// The body as it was decrypted, the outer layer first. Secrets are masked.
    package private(set) var decryptedRequest: [JSONValue] = []
    /// The body of the response before it was encrypted, the outer layer first. Secrets are masked.
    package private(set) var decryptedResponse: [JSONValue] = []
    /// The signature or the authentication code, if one was judged.
    package var code: CodeInspection?
    /// The notes about operations.
    package private(set) var notes: [OperationNote] = []
    /// The operations that the request named or listed, whatever became of it.
    package private(set) var mentioned: [String] = []
    /// The ignored members of the request.
    package private(set) var warnings: [RequestWarning] = []

    package init() {}

    /// The bound on the members that are told of: a request may have thousands.
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

    /// Layers are opened from the outside.
    mutating func noteOpened(_ plaintext: [UInt8]) {
        let limits = JSONLimits(maximumDepth: 64)
        let content =
            (try? JSONValue(parsing: plaintext, limits: limits)) ?? .string("\(plaintext.count) bytes, not JSON")
        self.decryptedRequest.append(content.maskingSecrets())
    }

    /// The envelope stayed closed, and the request went on without its content.
    mutating func noteUnopened(because reason: String) {
        self.decryptedRequest.append(.string("The envelope was not opened: \(reason)"))
    }

    /// Layers are sealed from the inside.
    mutating func noteSealed(_ content: JSONValue) {
        self.decryptedResponse.insert(content.maskingSecrets(), at: 0)
    }

    package mutating func mention(_ operationID: String) { self.mentioned.append(operationID) }

    /// The operations that the request was about, each once.
    package var operationIDs: [String] {
        var seen: Set<String> = []
        return (self.notes.map(\.operationID) + self.mentioned).filter { seen.insert($0).inserted }
    }

    mutating func note(_ kind: OperationNote.Kind, _ operationID: String, because reason: String? = nil) {
        self.notes.append(OperationNote(kind: kind, operationID: operationID, reason: reason))
    }
}

/// An ignored member of a request, as a real server ignores it without a word.
package struct RequestWarning: Sendable, Equatable {
    /// The name of the member.
    package let member: String
    /// The name that may have been meant.
    package let suggestion: String?
    /// For a person.
    package let message: String
}

/// Something that a request did to an operation.
package struct OperationNote: Sendable, Equatable {
    package typealias Kind = EmulatorOperationMoment

    package let kind: Kind
    package let operationID: String
    /// The reason of a refusal or a cancellation, of which the journal keeps the beginning.
    package let reason: String?

    package init(kind: Kind, operationID: String, reason: String?) {
        (self.kind, self.operationID) = (kind, operationID)
        self.reason = reason.map { String(decoding: $0.utf8.prefix(1024), as: UTF8.self) }
    }
}

/// A signature or an authentication code that was judged.
package struct CodeInspection: Sendable {
    /// The version of the protocol, such as `3.3`.
    package let version: String
    package let type: SignatureType
    /// The signed data in their normalized form, without the application's secret at their end.
    package let signedData: [UInt8]
    /// The number of moves of the counter before.
    package let counter: UInt64
    /// `nil` for a code that is right.
    package let diagnosis: CodeDiagnosis?
}

extension RequestContext {
    /// - Parameters:
    ///   - activation: As it was before.
    ///   - diagnosis: The reason why the code is wrong; `nil` for one that is right.
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
    /// The parts of names of members whose values are secrets: of keys, of tokens, of what a person knows.
    private static let secretNames = [
        "secret", "ctrdata", "privatekey", "encryptionkey", "password", "puk", "otp", "recoverycode",
    ]

    /// Returns it with a mask in the place of every string and number that belongs to a secret.
    ///
    /// What the protocol calls a secret is a member of its own; objects of such a name (`sharedSecretRequest`) hold public keys.
    func maskingSecrets() -> Self {
        switch self {
        case .object(let object):
            let members = object.members.map { member in
                JSONObject.Member(
                    key: member.key,
                    value: Self.isSecret(member.key) ? member.value.masked : member.value.maskingSecrets()
                )
            }
            return .object(JSONObject(members))
        case .array(let elements): return .array(elements.map { $0.maskingSecrets() })
        default: return self
        }
    }

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "pin" || self.secretNames.contains { name.contains($0) }
    }

    private var masked: Self {
        switch self {
        case .object: self.maskingSecrets()
        case .array(let elements): .array(elements.map(\.masked))
        case .string, .number: "(not shown)"
        default: self
        }
    }
}
