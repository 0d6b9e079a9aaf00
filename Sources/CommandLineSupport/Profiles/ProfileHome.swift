import Basics
package import Foundation

/// The folder of all profiles, and which of them is the default.
package struct ProfileHome: Sendable {
    package let url: URL

    /// Creates the folder that the options and the environment name.
    package init(_ invocation: Invocation) {
        let environment = ProcessInfo.processInfo.environment
        if let path = invocation["home"] ?? environment["MOBILE_TOKEN_HOME"], !path.isEmpty {
            self.url = URL(filePath: path, directoryHint: .isDirectory)
        } else if let path = environment["XDG_DATA_HOME"], path.utf8.first == UInt8(ascii: "/") {
            self.url = URL(filePath: path).appending(path: "mobile-token", directoryHint: .isDirectory)
        } else {
            // `URL.homeDirectory` is the one in the password file, whatever the environment says.
            let home = environment["HOME"].flatMap { $0.isEmpty ? nil : URL(filePath: $0) } ?? .homeDirectory
            self.url = home.appending(path: ".local/share/mobile-token", directoryHint: .isDirectory)
        }
    }

    /// The profile that is used when none is named.
    package var defaultName: String {
        guard let bytes = FileManager.default.contents(atPath: self.choice.path) else { return "default" }
        let name = String(decoding: bytes, as: UTF8.self)
        return Self.isName(name) ? name : "default"
    }

    /// The file that holds the name of the default profile. No profile is called like it: their names begin with no dot.
    private var choice: URL { self.url.appending(path: ".default") }

    /// The profiles that there are, by name.
    package var profiles: [ProfileFolder] {
        get throws {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: self.url.path)) ?? []
            return try names.filter(Self.isName).sorted().map { try self.profile($0) }.filter(\.exists)
        }
    }

    /// The profile of a name, which need not exist.
    ///
    /// - Throws: `UsageError` when no profile can be called so.
    package func profile(_ name: String) throws -> ProfileFolder {
        guard Self.isName(name) else {
            throw UsageError(message: "a profile's name has up to 64 letters, digits, dots, dashes and underscores")
        }
        return ProfileFolder(name: name, url: self.url.appending(path: name, directoryHint: .isDirectory))
    }

    /// The profile that the options or the environment name, else the default one.
    package func profile(_ invocation: Invocation) throws -> ProfileFolder {
        let environment = ProcessInfo.processInfo.environment["MOBILE_TOKEN_PROFILE"].flatMap { $0.isEmpty ? nil : $0 }
        return try self.profile(invocation["profile"] ?? environment ?? self.defaultName)
    }

    /// Makes a profile the default one.
    package func makeDefault(_ profile: ProfileFolder) throws {
        try Data(profile.name.utf8).write(to: self.choice, options: .atomic)
    }

    /// Deletes a profile with everything in it.
    package func remove(_ profile: ProfileFolder) throws {
        if profile.name == self.defaultName { try? FileManager.default.removeItem(at: self.choice) }
        try FileManager.default.removeItem(at: profile.url)
    }

    private static func isName(_ name: String) -> Bool {
        name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_.".utf8.contains($0) } && !name.isEmpty
            && name.utf8.first != UInt8(ascii: ".") && name.utf8.count <= 64
    }
}
