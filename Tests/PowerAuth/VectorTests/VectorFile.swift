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
    /// The file, the place in it, and what the file says about the case: by which a failure is found.
    let testDescription: String

    /// Every case of a file; none when the folder has no such file.
    static func all(in file: String, of folder: VectorFolder = .version3) throws -> [Self] {
        try Self.all(in: file, of: folder) { _ in true }
    }

    /// The cases of a file of version 4 that need the post-quantum algorithms, or those that do not.
    static func all(in file: String, postQuantum: Bool) throws -> [Self] {
        try Self.all(in: file, of: .version4) { $0.isPostQuantum == postQuantum }
    }

    /// The cases of a file whose `operation` is this one.
    static func all(in file: String, operation: String) throws -> [Self] {
        try Self.all(in: file, of: .version3) { $0.operation == operation }
    }

    private static func all(
        in file: String,
        of folder: VectorFolder,
        where isWanted: (Heading) -> Bool
    ) throws -> [Self] {
        guard let headings = try VectorFile.contents(of: file, in: folder, as: File<Heading, Ignored>.self) else {
            return []
        }
        let wanted = headings.vectors.indices.filter { isWanted(headings.vectors[$0].input) }
        let cases =
            try VectorFile.contents(of: file, in: folder, as: File<Lazy<Input>, Lazy<Output>>.self)?.vectors ?? []
        return try wanted.map { index in
            let heading = headings.vectors[index].input
            let notes = [heading.operation, heading.headerType, heading.side, heading.algorithm, heading.note]
            let note = notes.compactMap(\.self).joined(separator: ", ")
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

enum VectorFolder {
    case version3
    case version4

    private var environmentVariable: String {
        switch self {
        case .version3: "POWERAUTH_VECTORS_DIR"
        case .version4: "POWERAUTH_VECTORS4_DIR"
        }
    }

    private var resourceName: String {
        switch self {
        case .version3: "Vectors"
        case .version4: "Vectors4"
        }
    }

    /// The folder that the environment names, else the one of the package.
    fileprivate var url: URL? {
        ProcessInfo.processInfo.environment[self.environmentVariable].map {
            URL(filePath: $0, directoryHint: .isDirectory)
        } ?? Bundle.module.resourceURL?.appending(path: self.resourceName)
    }
}

enum VectorFile {
    /// Returns whether there is a file of this name. A suite without its file is disabled, for a folder may hold some files only.
    static func exists(_ name: String, in folder: VectorFolder = .version3) -> Bool {
        Self.url(of: name, in: folder).map {
            FileManager.default.fileExists(atPath: $0.path(percentEncoded: false))
        } ?? false
    }

    fileprivate static func contents<File: Decodable>(
        of name: String,
        in folder: VectorFolder,
        as type: File.Type
    ) throws -> File? {
        guard Self.exists(name, in: folder), let url = Self.url(of: name, in: folder) else { return nil }
        return try JSONDecoder().decode(type, from: try Data(contentsOf: url))
    }

    private static func url(of name: String, in folder: VectorFolder) -> URL? {
        folder.url?.appending(path: "\(name).json")
    }

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

/// Members that any case may have.
private struct Heading: Decodable {
    let operation: String?
    let note: String?
    let headerType: String?
    let side: String?
    let algorithm: String?
    let level: Int?
    let request: Request?

    struct Request: Decodable {
        let algorithm: String?
    }

    /// `true` if the case names a hybrid suite, or a level of one of its algorithms.
    var isPostQuantum: Bool {
        self.level != nil || (self.algorithm ?? self.request?.algorithm ?? "").contains("_ML_")
    }
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

    var secret: SecretBytes { SecretBytes(copying: self.bytes) }

    var privateKey: P256PrivateKey {
        get throws { try P256PrivateKey(scalar: self.secret) }
    }

    var publicKey: P256PublicKey {
        get throws { try P256PublicKey(x963: self.bytes) }
    }
}

extension SecretBytes {
    /// The bytes, for comparing with what a file holds.
    var revealed: [UInt8] { self.withUnsafeBytes { [UInt8]($0) } }
}
