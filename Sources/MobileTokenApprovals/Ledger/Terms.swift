import Basics
import ExactJSON
import PowerAuthCrypto
import Synchronization

/// The terms of a question, apart from what the ledger drew. The same identifier with other terms is another question.
struct Terms: Sendable, Equatable, Decodable {
    var audience: String
    var id: String
    var approvers: Approvers
    var template: ApprovalTemplate
    var parameters: [String: String]
    var seconds: Int64
    @Base64Coded var actionDigest: [UInt8]
    /// In milliseconds.
    var validFor: Int64
    var factors: [String]?
    var devices: [String]?
    /// In milliseconds.
    var minimumDeviceAge: Int64?
    var offlineRegistrations: [String: String]
    /// `SubjectPublicKeyInfo` in Base64, by user id; `nil` when the server's word is enough.
    var deviceKeys: [String: [String]]?
    var acceptsUnverifiedData: Bool
    var language: String?

    private var deviceKeysByBytes: [[UInt8]: [String]] {
        Dictionary((self.deviceKeys ?? [:]).map { (Array($0.key.utf8), $0.value) }) { one, other in one + other }
    }

    /// Returns whether both ask the same of the same people, byte by byte.
    func asksTheSame(as other: Terms) -> Bool {
        // `==` of `String` takes composed and decomposed letters for the same: the bytes of both are compared.
        func bytes(_ terms: Terms) -> [[UInt8]] {
            let question = Question(terms, nonce: [], approver: Person(""))
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

/// Bytes that JSON holds as one string: a list of numbers takes ten times as long to read.
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

/// The terms of a question with the nonce that the ledger drew, and what follows from both. They never change: all copies of the question's
/// record share them.
final class FixedTerms: Sendable, Equatable {
    let terms: Terms
    /// 128 random bits.
    let nonce: [UInt8]
    /// The terms in JSON, as the question's row holds them.
    let text: [UInt8]
    let key: LedgerKey
    /// Each made when it is first needed.
    private let wordings = Mutex<[Int: Wording]>([:])

    init(_ terms: Terms, nonce: [UInt8]) {
        self.terms = terms
        self.nonce = nonce
        self.text = terms.text
        self.key = LedgerKey(audience: terms.audience, id: terms.id)
    }

    func question(to person: Person) -> Question { Question(self.terms, nonce: self.nonce, approver: person) }

    /// Returns the words in which a person is asked.
    ///
    /// - Parameter index: The person's place in the question.
    func wording(_ index: Int, to person: Person) throws -> Wording {
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

    /// Returns whether the same is asked of the same people, byte by byte.
    func ask(theSameAs other: Terms) -> Bool {
        self.text.hasSameBytes(as: other.text) || self.terms.asksTheSame(as: other)
    }

    static func == (one: FixedTerms, other: FixedTerms) -> Bool {
        one === other || one.terms == other.terms && one.nonce == other.nonce
    }
}

/// The words in which a person is asked.
struct Wording: Sendable {
    var binding: Binding
    /// With the binding and the fingerprint.
    var parameters: [String: String]
    /// The data that the person must sign.
    var data: String
}

extension Question {
    init(_ terms: Terms, nonce: [UInt8], approver: Person) {
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

/// The name of a question's row: a digest of audience and identifier.
package struct LedgerKey: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(audience: String, id: String) {
        // A NUL stands in neither.
        self.bytes = SHA256.hash(Array("mobile-token question\0\(audience)\0\(id)".utf8))
    }

    /// Hexadecimal digits.
    package var description: String { Hexadecimal.encode(self.bytes) }
}
