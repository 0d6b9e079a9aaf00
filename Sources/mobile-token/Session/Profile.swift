import Basics
import CommandLineSupport
import Foundation
import MobileToken

/// The settings by which later calls find the activation. The secrets are in the store beside it, sealed.
struct Profile: Codable, Sendable {
    var url: String
    var sdkConfiguration: String
    /// The rules for the server's certificate, when they are not the system's.
    var trust: Trust?
    var activationID: String?

    struct Trust: Codable, Sendable {
        /// The absolute path of a file of certificate authorities.
        var caFile: String?
        var pin: String?
        /// Whether plain `http` is allowed to another machine.
        var allowsInsecureHTTP: Bool?
    }
}

/// The folder of a profile, with its settings, the store and its key.
struct ProfileFolder: Sendable {
    let url: URL

    /// Creates the folder that the options and the environment name.
    init(_ invocation: Invocation) throws {
        let name = invocation["profile"] ?? "default"
        let allowed = name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_.".utf8.contains($0) }
        guard allowed, !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= 64 else {
            throw UsageError(message: "a profile's name has up to 64 letters, digits, dots, dashes and underscores")
        }
        self.url = Self.home(invocation).appending(path: name, directoryHint: .isDirectory)
    }

    private static func home(_ invocation: Invocation) -> URL {
        let environment = ProcessInfo.processInfo.environment
        if let path = invocation["home"] ?? environment["MOBILE_TOKEN_HOME"], !path.isEmpty {
            return URL(filePath: path, directoryHint: .isDirectory)
        }
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            return URL(filePath: path).appending(path: "mobile-token", directoryHint: .isDirectory)
        }
        // `URL.homeDirectory` is the one in the password file, whatever the environment says.
        let home = environment["HOME"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) } ?? .homeDirectory
        return home.appending(path: ".local/share/mobile-token", directoryHint: .isDirectory)
    }

    private var file: URL { self.url.appending(path: "profile.json") }

    /// The store's database. Its key lies beside it.
    var database: String { self.url.appending(path: "activations.sqlite").path }

    /// The profile, if there is one.
    func load() throws -> Profile? {
        guard FileManager.default.fileExists(atPath: self.file.path) else { return nil }
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
