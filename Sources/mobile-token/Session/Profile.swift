import CommandLineSupport
import Foundation
import MobileToken

/// The settings by which later calls find the activation. The secrets are in the store beside it, sealed.
struct Profile: Codable, Sendable {
    var url: String
    /// The address below which `/pa/…` is found, when it is not `url`.
    var powerAuthURL: String?
    var sdkConfiguration: String
    /// The proxy, as `--proxy` names it; `nil` for none.
    var proxy: ProxyChoice?
    /// The rules for the server's certificate, when they are not the system's.
    var trust: Trust?
    var activationID: String?
    /// Where the sealing key is, as a `SealingKeySource` describes it; `nil` beside the store.
    var sealingKey: String?

    struct Trust: Codable, Sendable {
        /// The absolute path of a file of certificate authorities.
        var caFile: String?
        var pin: String?
        /// Whether plain `http` is allowed to another machine.
        var allowsInsecureHTTP: Bool?
    }
}

/// The folder of a profile, with its settings and the store.
struct ProfileFolder: Sendable {
    let name: String
    let url: URL

    /// Whether there is such a profile.
    var exists: Bool { FileManager.default.fileExists(atPath: self.file.path) }

    private var file: URL { self.url.appending(path: "profile.json") }

    /// The store's database. Its key lies beside it, unless the profile says otherwise.
    var database: String { self.url.appending(path: "activations.sqlite").path }

    /// The profile, if there is one.
    func load() throws -> Profile? {
        guard self.exists else { return nil }
        do {
            return try JSONDecoder().decode(Profile.self, from: Data(contentsOf: self.file))
        } catch {
            throw UsageError(message: "the profile '\(self.file.path)' cannot be read")
        }
    }

    /// Writes the profile, whole or not at all, readable by its owner only.
    func save(_ profile: Profile) throws {
        try self.create()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(profile).write(to: self.file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.file.path)
    }

    /// Creates the folder on disk, readable by its owner only.
    func create() throws {
        do {
            try FileManager.default.createDirectory(
                at: self.url,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw UsageError(message: "the folder '\(self.url.path)' cannot be created")
        }
    }
}
