import Basics
import ExactJSON
import PowerAuthCrypto
import Synchronization

/// The terms of a question, without the ledger's nonce. The same identifier with other terms is another question.
struct Terms: Sendable, Equatable, Decodable {
    var audience: String
    var id: String
    var approvers: Approvers
    var template: ApprovalTemplate
    var parameters: [String: String]
    var seconds: Int64
    @Base64Coded var actionDigest: [UInt8]
    /// The validity in milliseconds.
    var validFor: Int64
    var factors: [String]?
    var devices: [String]?
    /// The minimum age in milliseconds.
    var minimumDeviceAge: Int64?
    var offlineRegistrations: [String: String]
    /// `SubjectPublicKeyInfo` in Base64, by user id; `nil` to trust the server.
    var deviceKeys: [String: [String]]?
    var acceptsUnverifiedData: Bool
    var language: String?

    /// The time to decide, in milliseconds.
    var milliseconds: Int64 { Duration.seconds(self.seconds).milliseconds }

    private var deviceKeysByBytes: [[UInt8]: [String]] {
        Dictionary((self.deviceKeys ?? [:]).map { (Array($0.key.utf8), $0.value) }) { one, other in one + other }
    }

    /// Returns whether both ask the same people the same, byte by byte.
    func asksTheSame(as other: Terms) -> Bool {
        // `==` of `String` equates composed and decomposed letters, so bytes are compared.
        func bytes(_ terms: Terms) -> [[UInt8]] {
            let question = Question(terms, nonce: [], approver: "")
            let json = (try? CanonicalJSON.bytes(of: question.json)) ?? []
            let lists = [terms.factors, terms.devices].map { list -> [UInt8] in
                guard let list else { return [] }
                return JSONValue.array(list.map { .string($0) }).serialized()
            }
            return [json] + lists
        }
        return bytes(self) == bytes(other) && self.validFor == other.validFor
            && self.minimumDeviceAge == other.minimumDeviceAge
            && self.acceptsUnverifiedData == other.acceptsUnverifiedData
            && self.deviceKeysByBytes == other.deviceKeysByBytes
    }
}

/// Bytes as one JSON string: a list of numbers takes ten times as long to read.
@propertyWrapper
struct Base64Coded: Sendable, Equatable, Decodable {
    var wrappedValue: [UInt8]

    init(wrappedValue: [UInt8]) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = Base64.decode(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not Base64")
        }
        self.wrappedValue = bytes
    }
}

/// A question's terms with the ledger's nonce, and values derived from both. They are constant and shared by all copies of the
/// record.
final class FixedTerms: Sendable, Equatable {
    let terms: Terms
    /// 128 random bits.
    let nonce: [UInt8]
    /// The terms in JSON, as in the question's row.
    let text: [UInt8]
    let key: LedgerKey
    /// Computed on first use.
    private let wordings = Mutex<[Int: Wording]>([:])

    init(_ terms: Terms, nonce: [UInt8]) {
        self.terms = terms
        self.nonce = nonce
        self.text = terms.text
        self.key = LedgerKey(audience: terms.audience, id: terms.id)
    }

    /// Returns terms with a random nonce.
    ///
    /// A nonce is replaced if a fingerprint made with it reads like an amount, as `5EUR-7KQ4` does: one in forty would.
    static func drawn(for terms: Terms) -> FixedTerms {
        var fixed = FixedTerms(terms, nonce: SecureRandom.bytes(16))
        for _ in 0..<32 where !fixed.areFingerprintsPlain {
            fixed = FixedTerms(terms, nonce: SecureRandom.bytes(16))
        }
        return fixed
    }

    private var areFingerprintsPlain: Bool {
        self.terms.approvers.people.enumerated().allSatisfy { index, person in
            guard let wording = try? self.wording(index, to: person) else { return true }
            return ReadableValues(signing: wording.data).deception(in: wording.binding.fingerprint) == nil
        }
    }

    func question(to person: Approvers.Person) -> Question { Question(self.terms, nonce: self.nonce, approver: person) }

    /// Returns the text of a person's question.
    ///
    /// - Parameter index: The person's position in the question.
    func wording(_ index: Int, to person: Approvers.Person) throws -> Wording {
        if let wording = self.wordings.withLock({ $0[index] }) { return wording }
        let binding = try self.question(to: person).binding()
        var parameters = self.terms.parameters
        parameters[ApprovalTemplate.binding] = binding.string
        parameters[ApprovalTemplate.fingerprint] = binding.fingerprint
        let data = try self.terms.template.data(parameters: parameters)
        let wording = Wording(binding: binding, parameters: parameters, data: data)
        self.wordings.withLock { $0[index] = wording }
        return wording
    }

    /// Returns whether both ask the same people the same, byte by byte.
    func ask(theSameAs other: Terms) -> Bool {
        self.text.hasSameBytes(as: other.text) || self.terms.asksTheSame(as: other)
    }

    static func == (one: FixedTerms, other: FixedTerms) -> Bool {
        one === other || one.terms == other.terms && one.nonce == other.nonce
    }
}

/// The text of a person's question.
struct Wording: Sendable {
    var binding: Binding
    /// The parameters, with the binding and the fingerprint.
    var parameters: [String: String]
    /// The data that the person must sign.
    var data: String

    /// The values that the desk adds to those of the request.
    var desk: [String] { [self.binding.string, self.binding.fingerprint] }
}

extension Question {
    init(_ terms: Terms, nonce: [UInt8], approver: Approvers.Person) {
        self.init(
            audience: terms.audience,
            id: terms.id,
            nonce: nonce,
            approver: approver,
            approvers: terms.approvers,
            template: terms.template,
            parameters: terms.parameters,
            seconds: terms.seconds,
            actionDigest: terms.actionDigest
        )
    }
}

/// The key of a question's row: a digest of audience and identifier.
package struct LedgerKey: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(audience: String, id: String) {
        // Neither contains a NUL.
        self.bytes = SHA256.hash(Array("mobile-token question\0\(audience)\0\(id)".utf8))
    }

    /// The bytes in hexadecimal digits.
    package var description: String { Hexadecimal.encode(self.bytes) }
}
