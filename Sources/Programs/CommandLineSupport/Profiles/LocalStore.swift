import Foundation
package import MobileToken

/// A store in a local file, of a profile or standalone.
package struct LocalStore: Sendable {
    package let path: String
    /// The profile that names it, if any.
    package let profile: Profile?
    private let sealingKey: SealingKeySource?

    /// Creates the reference to the store named by `--file` or `--profile`.
    ///
    /// - Parameter option: The name of the option for its sealing key.
    /// - Returns: `nil` if neither is given.
    /// - Throws: ``UsageError`` if both are given, or there is no such store; ``MobileTokenError`` if there is no such profile.
    package init?(_ invocation: Invocation, sealingKey option: String) throws {
        switch (invocation["file"], invocation["profile"]) {
        case (nil, nil): return nil
        case (_?, _?):
            throw invocation.misuse("--file and --profile exclude each other")
        case (let path?, nil):
            try self.init(path: path, profile: nil, sealingKey: invocation.sealingKey(option))
        case (nil, _?):
            try self.init(of: ProfileHome(invocation).profile(invocation), invocation.sealingKey(option))
        }
    }

    /// Creates the reference to a profile's store.
    ///
    /// - Parameter sealingKey: Replaces the profile's setting.
    package init(of folder: ProfileFolder, _ sealingKey: SealingKeySource?) throws {
        let profile = try folder.existing()
        let sealingKey = try sealingKey ?? profile.sealingKey.map { try SealingKeySource($0) }
        try self.init(path: folder.database, profile: profile, sealingKey: sealingKey)
    }

    private init(path: String, profile: Profile?, sealingKey: SealingKeySource?) throws {
        // Opening would create an empty one.
        guard FileManager.default.fileExists(atPath: path) else {
            throw UsageError(message: "there is no store \(path)")
        }
        (self.path, self.profile, self.sealingKey) = (path, profile, sealingKey)
    }

    /// Runs `body` with the store, and closes it.
    package func run<Result>(_ body: (ActivationStore) async throws -> Result) async throws -> Result {
        try await closing(
            ActivationStore.sqlite(path: self.path, sealingKey: self.sealingKey),
            { await $0.close() },
            body
        )
    }
}
