package import Foundation
import MobileToken

/// The folder of a profile, with its settings and the store.
package struct ProfileFolder: Sendable {
    package let name: String
    package let url: URL

    /// Tells if the profile has been saved.
    package var exists: Bool { FileManager.default.fileExists(atPath: self.file.path) }

    private var file: URL { self.url.appending(path: "profile.json") }

    /// The path of the store, whose key lies beside it unless the profile names another place.
    package var database: String { self.url.appending(path: "activations.sqlite").path }

    /// Returns the profile, if there is one.
    package func load() throws -> Profile? {
        guard self.exists else { return nil }
        do {
            return try JSONDecoder().decode(Profile.self, from: Data(contentsOf: self.file))
        } catch {
            throw ConfigurationError(message: "the profile '\(self.file.path)' cannot be read")
        }
    }

    /// Returns the profile, which must be there.
    ///
    /// - Throws: ``MobileTokenError`` when there is none.
    package func existing() throws -> Profile {
        guard let profile = try self.load() else {
            throw MobileTokenError(.unknownActivation, "there is no profile '\(self.name)'")
        }
        return profile
    }

    /// Writes the profile, whole or not at all, readable by its owner only.
    package func save(_ profile: Profile) throws {
        try self.create()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(profile).write(to: self.file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.file.path)
    }

    /// Puts back earlier settings; `nil` deletes them.
    package func restore(_ profile: Profile?) throws {
        guard let profile else { return try FileManager.default.removeItem(at: self.file) }
        try self.save(profile)
    }

    /// Creates the folder on disk, readable by its owner only.
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
