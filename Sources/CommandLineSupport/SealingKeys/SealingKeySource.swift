import Basics
import Glibc
package import MobileToken
import PowerAuth
import PowerAuthCrypto

/// The place of a sealing key as an option or a configuration file names it.
///
/// | String | Where the key is |
/// |---|---|
/// | `file:PATH` | in a file of 32 random bytes, made for a new store |
/// | `env:NAME` | in an environment variable, in Base64 |
/// | `command:PROGRAM ARGUMENT…` | in the standard output of a program, in Base64; see ``SealingKeyCommand`` |
///
/// The words of a command are apart by spaces, and there are no quotes: what needs more is a script.
package struct SealingKeySource: SealingKeyProvider, CustomStringConvertible {
    /// The string, with a path that begins at the root: it means the same in any folder.
    package let description: String
    /// The environment variable that holds the key; `nil` when it is elsewhere.
    package let variable: String?
    private let provider: any SealingKeyProvider

    /// Reads a string; the key itself is not looked for yet.
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
            // One without a slash is looked for in `PATH`.
            if program.utf8.contains(UInt8(ascii: "/")) { words[0] = try Self.absolute(program) }
            self.description = "command:" + words.joined(separator: " ")
            self.provider = SealingKeyCommand(words: words)
        default:
            throw Self.invalid()
        }
    }

    /// Gets the key from its place.
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
