package import Foundation

/// A folder of mode 0700 that goes with its owner.
package final class TemporaryFolder: Sendable {
    package let url: URL

    package init() throws {
        self.url = FileManager.default.temporaryDirectory.appending(path: "mobile-token-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: self.url,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    package var path: String { self.url.path }

    package func file(_ name: String) -> String { self.path + "/" + name }
}
