import Basics
package import Foundation

/// The folder of all profiles, with the choice of the default one.
package struct ProfileHome: Sendable {
    package let url: URL

    /// Uses the folder named by the options or the environment.
    package init(_ invocation: Invocation) {
        let environment = ProcessInfo.processInfo.environment
        if let path = invocation["home"] ?? environment["MOBILE_TOKEN_HOME"], !path.isEmpty {
            self.url = URL(filePath: path, directoryHint: .isDirectory)
        } else if let path = environment["XDG_DATA_HOME"], path.utf8.first == UInt8(ascii: "/") {
            self.url = URL(filePath: path).appending(path: "mobile-token", directoryHint: .isDirectory)
        } else {
            // `URL.homeDirectory` comes from the password file and ignores the environment.
            let home = environment["HOME"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) } ?? .homeDirectory
            self.url = home.appending(path: ".local/share/mobile-token", directoryHint: .isDirectory)
        }
    }

    package var defaultName: String {
        guard let bytes = FileManager.default.contents(atPath: self.choice.path) else { return "default" }
        let name = String(decoding: bytes, as: UTF8.self)
        return Self.isName(name) ? name : "default"
    }

    /// The file with the default profile's name. Profile names do not begin with a dot.
    private var choice: URL { self.url.appending(path: ".default") }

    package var profiles: [ProfileFolder] {
        get throws {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: self.url.path)) ?? []
            return try names.filter(Self.isName).sorted().map { try self.profile($0) }.filter(\.exists)
        }
    }

    /// Returns the profile with a name; it may not exist.
    ///
    /// - Throws: `UsageError` for an invalid name.
    package func profile(_ name: String) throws -> ProfileFolder {
        guard Self.isName(name) else {
            throw UsageError(message: "a profile's name has up to 64 letters, digits, dots, dashes and underscores")
        }
        return ProfileFolder(name: name, url: self.url.appending(path: name, directoryHint: .isDirectory))
    }

    /// Returns the profile named by the options or the environment, or the default one.
    package func profile(_ invocation: Invocation) throws -> ProfileFolder {
        let environment = ProcessInfo.processInfo.environment["MOBILE_TOKEN_PROFILE"].flatMap { $0.isEmpty ? nil : $0 }
        return try self.profile(invocation["profile"] ?? environment ?? self.defaultName)
    }

    package func makeDefault(_ profile: ProfileFolder) throws {
        try Data(profile.name.utf8).write(to: self.choice, options: .atomic)
    }

    /// Deletes a profile with all its content.
    package func remove(_ profile: ProfileFolder) throws {
        if profile.name == self.defaultName { try? FileManager.default.removeItem(at: self.choice) }
        try FileManager.default.removeItem(at: profile.url)
    }

    private static func isName(_ name: String) -> Bool {
        name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_.".utf8.contains($0) } && !name.isEmpty
            && name.utf8.first != UInt8(ascii: ".") && name.utf8.count <= 64
    }
}
