package import Foundation
import MobileToken

/// A profile's folder: an activation's settings with its store, a requester's settings with its ledger, or both.
package struct ProfileFolder: Sendable {
    package let name: String
    package let url: URL

    /// Indicates whether the profile was saved.
    package var exists: Bool { [self.file, self.askingFile].contains { Self.isThere($0) } }

    /// The requester's settings.
    package var askingFile: URL { self.url.appending(path: "asking.json") }

    /// The path of the requester's ledger, unless the settings name another place.
    package var ledger: String { self.url.appending(path: "approvals.sqlite").path }

    private static func isThere(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    private var file: URL { self.url.appending(path: "profile.json") }

    /// The path of the store; its key is beside it unless the profile names another place.
    package var database: String { self.url.appending(path: "activations.sqlite").path }

    /// Returns the profile, if there is one.
    package func load() throws -> Profile? { try self.load(Profile.self, self.file) }

    /// Returns the settings in a file of the folder, if it exists.
    package func load<Settings: Decodable>(_ type: Settings.Type, _ file: URL) throws -> Settings? {
        guard Self.isThere(file) else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(contentsOf: file))
        } catch {
            throw ConfigurationError(message: "the profile '\(file.path)' cannot be read")
        }
    }

    /// Returns the profile, which must exist.
    ///
    /// - Throws: ``MobileTokenError`` if there is none.
    package func existing() throws -> Profile {
        guard let profile = try self.load() else { throw self.missing }
        return profile
    }

    /// Throws if the profile does not exist.
    ///
    /// - Throws: ``MobileTokenError`` if there is none.
    package func requireExistence() throws { guard self.exists else { throw self.missing } }

    private var missing: MobileTokenError {
        MobileTokenError(.unknownActivation, "there is no profile '\(self.name)'")
    }

    /// Writes the profile atomically, readable only by its owner.
    package func save(_ profile: Profile) throws { try self.save(profile, to: self.file) }

    /// Writes settings to a file of the folder atomically, readable only by its owner.
    package func save(_ settings: some Encodable, to file: URL) throws {
        try self.create()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(settings).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Restores earlier settings; `nil` deletes them.
    package func restore(_ profile: Profile?) throws {
        guard let profile else { return try FileManager.default.removeItem(at: self.file) }
        try self.save(profile)
    }

    /// Creates the folder, accessible only to its owner.
    package func create() throws {
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
