import Foundation
import PowerAuthCrypto
import Testing

/// One case of a vector file: what went into the reference implementation, and what came out.
///
/// A suite lists the members it needs and takes its cases as the arguments of a test:
///
/// ```swift
/// @Suite(.enabled(if: VectorFile.exists("kdf")))
/// struct KeyDerivationVectors {
///     struct Input: Decodable { let masterKey: Bytes }
///     struct Output: Decodable { let derivedKey: Bytes }
///
///     @Test(arguments: try Vector<Input, Output>.all(in: "kdf"))
///     func derivedKey(_ vector: Vector<Input, Output>) throws { … }
/// }
/// ```
struct Vector<Input: Decodable & Sendable, Output: Decodable & Sendable>: Sendable, CustomTestStringConvertible {
    let input: Input
    let output: Output
    /// The file, the place in it, and what the file says about the case: what a failure is found by.
    let testDescription: String

    /// Every case of a file; none when the folder has no such file.
    static func all(in file: String) throws -> [Self] {
        try Self.all(in: file) { _ in true }
    }

    /// The cases of a file whose `operation` is this one.
    static func all(in file: String, operation: String) throws -> [Self] {
        try Self.all(in: file) { $0.operation == operation }
    }

    private static func all(in file: String, where isWanted: (Heading) -> Bool) throws -> [Self] {
        guard let headings = try VectorFile.contents(of: file, as: File<Heading, Ignored>.self) else { return [] }
        let wanted = headings.vectors.indices.filter { isWanted(headings.vectors[$0].input) }
        let cases = try VectorFile.contents(of: file, as: File<Lazy<Input>, Lazy<Output>>.self)?.vectors ?? []
        return try wanted.map { index in
            let heading = headings.vectors[index].input
            let note = [heading.operation, heading.headerType, heading.note].compactMap(\.self).joined(separator: ", ")
            let description = "\(file).json #\(index)\(note.isEmpty ? "" : " (\(note))")"
            do {
                return Self(
                    input: try cases[index].input.decoded.get(),
                    output: try cases[index].output.decoded.get(),
                    testDescription: description
                )
            } catch {
                throw VectorFile.Unreadable(description: "\(description): \(error)")
            }
        }
    }
}

/// The vector files: those in the folder that `POWERAUTH_VECTORS_DIR` names, else those of the package.
enum VectorFile {
    private static let folder: URL? =
        ProcessInfo.processInfo.environment["POWERAUTH_VECTORS_DIR"].map {
            URL(filePath: $0, directoryHint: .isDirectory)
        }
        ?? Bundle.module.resourceURL?.appending(path: "Vectors")

    /// Whether there is a file of this name. A suite without its file is disabled, for a folder may hold some files only.
    static func exists(_ name: String) -> Bool {
        Self.url(of: name).map { FileManager.default.fileExists(atPath: $0.path(percentEncoded: false)) } ?? false
    }

    fileprivate static func contents<File: Decodable>(of name: String, as type: File.Type) throws -> File? {
        guard Self.exists(name), let url = Self.url(of: name) else { return nil }
        return try JSONDecoder().decode(type, from: try Data(contentsOf: url))
    }

    private static func url(of name: String) -> URL? { Self.folder?.appending(path: "\(name).json") }

    /// A case that does not have the members that its suite expects.
    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }
}

private struct File<Input: Decodable, Output: Decodable>: Decodable {
    struct Case: Decodable {
        let input: Input
        let output: Output
    }

    let vectors: [Case]
}

/// What any case may say about itself.
private struct Heading: Decodable {
    let operation: String?
    let note: String?
    let headerType: String?
}

private struct Ignored: Decodable {}

/// Decodes now and fails later: cases of other operations need not have the wanted members.
private struct Lazy<Value: Decodable & Sendable>: Decodable, Sendable {
    let decoded: Result<Value, any Error>

    init(from decoder: any Decoder) throws {
        self.decoded = Result { try Value(from: decoder) }
    }
}

/// The input of a case in two parts: what several files have in common, and what a file has of its own.
@dynamicMemberLookup
struct Joined<Common: Decodable & Sendable, Own: Decodable & Sendable>: Decodable, Sendable {
    let common: Common
    private let own: Own

    init(from decoder: any Decoder) throws {
        self.common = try Common(from: decoder)
        self.own = try Own(from: decoder)
    }

    subscript<Value>(dynamicMember member: KeyPath<Own, Value>) -> Value { self.own[keyPath: member] }
}

/// Bytes that stand in a file as Base64. Decoded by Foundation, so that our own decoder is not its own judge.
struct Bytes: Decodable, Sendable, Equatable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let data = Data(base64Encoded: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not Base64")
        }
        self.bytes = [UInt8](data)
    }

    /// The bytes as a key.
    var secret: SecretBytes { SecretBytes(copying: self.bytes) }

    /// The bytes as a private key.
    var privateKey: P256PrivateKey {
        get throws { try P256PrivateKey(scalar: self.secret) }
    }

    /// The bytes as a public key.
    var publicKey: P256PublicKey {
        get throws { try P256PublicKey(x963: self.bytes) }
    }
}

extension SecretBytes {
    /// The bytes, for comparing with what a file holds.
    var revealed: [UInt8] { self.withUnsafeBytes { [UInt8]($0) } }
}
