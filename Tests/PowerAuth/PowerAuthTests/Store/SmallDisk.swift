import Foundation
import Glibc
import TestSupport
import Testing

/// A file system in memory that is soon full.
final class SmallDisk: Sendable {
    let path: String
    private var filler: String { self.path + "/filler" }

    /// `true` if this process may mount: not every root may.
    static let isPossible: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        return (try? SmallDisk(at: folder.file("disk"), size: "8k")) != nil
    }()

    init(at path: String, size: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("none", path, "tmpfs", UInt(MS_NODEV), "size=\(size),mode=700") == 0 else {
            throw CocoaError(.fileWriteNoPermission)
        }
    }

    deinit { umount2(self.path, Int32(MNT_DETACH)) }

    func fill() throws {
        let descriptor = open(self.filler, O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        while write(descriptor, page, page.count) == page.count {}
        try #require(errno == ENOSPC)
    }

    func makeRoom() throws { try FileManager.default.removeItem(atPath: self.filler) }
}
