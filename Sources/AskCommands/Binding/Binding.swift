import Basics
import CommandLineSupport
import Foundation
import Glibc
import PowerAuthCrypto

/// A value that the approval covers: digested when it is read, and kept in memory as it was.
struct Binding: Sendable {
    /// The place that a value is read from.
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
    /// In hexadecimal digits.
    let digest: String
    let file: SealedFile

    /// The place of the value in the words of a command.
    var placeholder: String { "{\(self.name)}" }

    /// The largest value, in bytes.
    private static let byteCountLimit = 256 << 20

    /// Reads the value that `NAME=file:PATH`, `NAME=env:VARIABLE` or `NAME=stdin:` names.
    ///
    /// - Parameter variables: The environment variables that the command does not inherit.
    /// - Throws: `UsageError`.
    init(_ word: String, withholding variables: Set<String>) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, Self.isName(parts[0]) else {
            throw UsageError(
                message:
                    "--bind takes NAME=file:PATH, NAME=env:VARIABLE or NAME=stdin:, whose name has letters, digits, - and _"
            )
        }
        self.name = parts[0]
        self.source = try Self.source(parts[1], of: word)
        if case .environment(let name) = self.source, variables.contains(name) {
            // The command would get what it must not inherit.
            throw UsageError(message: "the secret in \(name) is not for the command")
        }
        let bytes = try Self.read(self.source)
        self.digest = Hexadecimal.encode(SHA256.hash(bytes))
        self.file = try SealedFile(holding: bytes)
    }

    /// Returns the paths of the files among what `--bind` names.
    static func files(_ words: [String]) -> [String] {
        words.compactMap { word in
            let place = String(word.unicodeScalars.drop { $0 != "=" })
            return ExactString(place).dropping(prefix: "=file:")?.string
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

    /// Returns the digest of a regular file as it is now; `nil` when there is something else by now, such as a pipe, whose other end would
    /// say how long this takes, and what the next reader gets.
    static func digest(ofFile path: String) throws -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw self.unreadable(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw self.unreadable(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Hexadecimal.encode(SHA256.hash(try self.bytes(of: descriptor, naming: path)))
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
