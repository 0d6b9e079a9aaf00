import Basics
import ExactJSON
import Foundation
import PowerAuthCrypto
import Synchronization

/// The terms of a question, apart from what the ledger drew. The same identifier with other terms is another question.
struct Terms: Sendable, Equatable, Codable {
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
struct Base64Coded: Sendable, Equatable, Codable {
    var wrappedValue: [UInt8]

    init(wrappedValue: [UInt8]) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = Base64.decode(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not Base64")
        }
        self.wrappedValue = bytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64.encode(self.wrappedValue))
    }
}

/// A value that never changes, and is encoded once for all copies: in JSON, a string that holds the JSON of it.
@propertyWrapper
struct CodedOnce<Value: Sendable & Equatable & Codable>: Sendable, Equatable, Codable {
    private final class Text: Sendable {
        private let text: Mutex<String?>

        init(_ text: String?) { self.text = Mutex(text) }

        func text(_ make: () throws -> String) throws -> String {
            try self.text.withLock { text in
                let made = try text ?? make()
                text = made
                return made
            }
        }
    }

    let wrappedValue: Value
    private let text: Text

    init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
        self.text = Text(nil)
    }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self.wrappedValue = try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        self.text = Text(text)
    }

    func encode(to encoder: any Encoder) throws {
        let text = try self.text.text {
            String(decoding: try JSONEncoder().encode(self.wrappedValue), as: UTF8.self)
        }
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    static func == (one: Self, other: Self) -> Bool { one.wrappedValue == other.wrappedValue }
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

    init(audience: String, id: String) {
        // A NUL stands in neither.
        self.bytes = SHA256.hash(Array("mobile-token question\0\(audience)\0\(id)".utf8))
    }

    /// Hexadecimal digits.
    package var description: String { Hexadecimal.encode(self.bytes) }
}
