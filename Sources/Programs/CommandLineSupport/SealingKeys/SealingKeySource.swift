import Glibc
package import MobileToken
import PowerAuthClient
import PowerAuthCrypto

/// The place of a sealing key in an option or a configuration file.
///
/// | String | Where the key is |
/// |---|---|
/// | `file:PATH` | in a file of 32 random bytes, made for a new store |
/// | `env:NAME` | in an environment variable, in Base64 |
/// | `command:PROGRAM ARGUMENT…` | in the standard output of a program, in Base64; see ``SealingKeyCommand`` |
///
/// A command's words are separated by spaces, without quoting; use a script for anything else.
package struct SealingKeySource: SealingKeyProvider, CustomStringConvertible {
    /// The string with an absolute path, so that it means the same in any folder.
    package let description: String
    /// The environment variable with the key; `nil` if it is elsewhere.
    package let variable: String?
    private let provider: any SealingKeyProvider

    /// Parses a string, without reading the key.
    ///
    /// - Throws: `invalidConfiguration`.
    package init(_ string: String) throws {
        let parts = string.unicodeScalars.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { String($0) }
        guard parts.count == 2, !string.utf8.contains(0) else { throw Self.invalid() }
        let rest = parts[1]
        self.variable = parts[0] == "env" ? rest : nil
        switch parts[0] {
        case "file" where !rest.isEmpty:
            let path = try Self.absolute(rest)
            self.description = "file:\(path)"
            self.provider = .file(path)
        case "env" where !rest.isEmpty && !rest.utf8.contains(UInt8(ascii: "=")):
            self.description = "env:\(rest)"
            self.provider = .environment(rest)
        case "command":
            var words = rest.unicodeScalars.split(separator: " ").map { String($0) }
            guard let program = words.first else { throw Self.invalid() }
            // A program without a slash is searched in `PATH`.
            if program.utf8.contains(UInt8(ascii: "/")) { words[0] = try Self.absolute(program) }
            self.description = "command:" + words.joined(separator: " ")
            self.provider = SealingKeyCommand(words: words)
        default:
            throw Self.invalid()
        }
    }

    package func sealingKey(isForNewStore: Bool) async throws -> SecretBytes {
        try await self.provider.sealingKey(isForNewStore: isForNewStore)
    }

    private static func absolute(_ path: String) throws -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let folder = getcwd(nil, 0) else { throw MobileTokenError.system("find the folder of", path) }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private static func invalid() -> MobileTokenError {
        MobileTokenError(
            .invalidConfiguration,
            "A sealing key is named by file:PATH, env:NAME or command:PROGRAM ARGUMENT…"
        )
    }
}
