import Basics
import CommandLineSupport
import Foundation
import Glibc
import PowerAuthCrypto

/// The secrets of this call, which a command must not receive.
struct Withheld: Sendable {
    var variables: Set<String> = []
    var files: [String] = []
}

/// A value that the approval covers, digested when it is read and kept unchanged in memory.
struct Binding: Sendable {
    /// The source of a value.
    enum Source: Sendable, Equatable, CustomStringConvertible {
        case file(String)
        case environment(String)
        case standardInput

        var description: String {
            switch self {
            case .file(let path): "file:\(path)"
            case .environment(let name): "env:\(name)"
            case .standardInput: "stdin:"
            }
        }
    }

    let name: String
    let source: Source
    /// The digest in hexadecimal digits.
    let digest: String
    let file: SealedFile
    /// The source file; `nil` for another source.
    let identity: FileIdentity?

    /// The placeholder of the value in a command's words.
    var placeholder: String { "{\(self.name)}" }

    /// The maximum size of a value, in bytes.
    private static let byteCountLimit = 256 << 20

    /// Reads the value named by `NAME=file:PATH`, `NAME=env:VARIABLE` or `NAME=stdin:`.
    ///
    /// - Parameter secrets: The secrets of this call, which the command must not receive.
    /// - Throws: `UsageError`.
    init(_ word: String, withholding secrets: Withheld) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, Self.isName(parts[0]) else {
            throw UsageError(
                message:
                    "--bind takes NAME=file:PATH, NAME=env:VARIABLE or NAME=stdin:, whose name has letters, digits, - and _"
            )
        }
        self.name = parts[0]
        self.source = try Self.source(parts[1], of: word)
        var identity: FileIdentity?
        // The command would receive a secret that it must not inherit.
        switch self.source {
        case .environment(let name) where secrets.variables.contains(name):
            throw UsageError(message: "the secret in \(name) is not for the command")
        case .file(let path):
            guard !ProcessFiles.contain(path) else {
                throw UsageError(message: "\(path) is a file about a process, which cannot be bound: bind a copy")
            }
            identity = FileIdentity(path)
            guard identity == nil || !secrets.files.contains(where: { [identity] in FileIdentity($0) == identity })
            else {
                throw UsageError(message: "the secret in \(path) is not for the command")
            }
        case .environment, .standardInput: break
        }
        self.identity = identity
        let bytes = try Self.read(self.source)
        self.digest = Hexadecimal.encode(SHA256.hash(bytes))
        self.file = try SealedFile(holding: bytes)
    }

    /// Returns the paths of the files named by `--bind`, or by another option that takes a name and a file.
    static func files(_ words: [String], behind mark: String = "=file:") -> [String] {
        words.compactMap { word in
            let place = String(word.unicodeScalars.drop { $0 != "=" })
            return ExactString(place).dropping(prefix: mark)?.string
        }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 64
            && name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
    }

    private static func source(_ place: String, of word: String) throws -> Source {
        if place == "stdin:" { return .standardInput }
        for (scheme, source) in [("file:", Source.file), ("env:", Source.environment)] {
            if let rest = ExactString(place).dropping(prefix: scheme)?.string, !rest.isEmpty { return source(rest) }
        }
        throw UsageError(message: "'\(word)' names no source: file:PATH, env:VARIABLE or stdin:")
    }

    private static func read(_ source: Source) throws -> [UInt8] {
        switch source {
        case .environment(let name):
            guard let value = getenv(name) else {
                throw UsageError(message: "the environment has no variable \(name)")
            }
            return (0..<strlen(value)).map { UInt8(bitPattern: value[$0]) }
        case .standardInput: return try self.bytes(of: STDIN_FILENO, naming: "standard input")
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw self.unreadable(path) }
            defer { close(descriptor) }
            return try self.bytes(of: descriptor, naming: path)
        }
    }

    /// Returns a regular file's current digest; `nil` if there is nothing to read, or something else such as a pipe, whose writer
    /// controls the duration and the next reader's content.
    static func digest(ofFile path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = try? self.bytes(of: descriptor, naming: path)
        else { return nil }
        return Hexadecimal.encode(SHA256.hash(bytes))
    }

    private static func bytes(of descriptor: CInt, naming name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw self.unreadable(name) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= self.byteCountLimit else {
                throw UsageError(message: "\(name) has more than \(self.byteCountLimit >> 20) MiB: bind its digest")
            }
        }
    }

    private static func unreadable(_ name: String) -> UsageError {
        UsageError(message: "cannot read \(name): \(String(cString: strerror(errno)))")
    }
}
