import Basics
import CLinux
import Foundation
import Glibc

/// The kernel's identity of a file, which may have many paths, by links, `..` and descriptors.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// Indicates a terminal or another device, which several descriptors share for different purposes.
    let isDevice: Bool

    private init(_ status: stat) {
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.isDevice = status.st_mode & S_IFMT == S_IFCHR
    }

    /// Creates the identity of the file at a path; `nil` if there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The place of a file, which may not exist yet.
struct FilePlace {
    private let file: FileIdentity?
    private let folder: FileIdentity?
    private let name: String

    init(_ path: String) {
        self.file = FileIdentity(path)
        let url = URL(filePath: path).absoluteURL.standardizedFileURL
        self.folder = FileIdentity(url.deletingLastPathComponent().path)
        self.name = url.lastPathComponent
    }

    /// Returns whether both are one file, or would be.
    func isSame(as other: Self) -> Bool {
        if let file, file == other.file { return true }
        return self.folder != nil && self.folder == other.folder && self.name.isExactly(other.name)
    }
}

/// The process file system: its files belong to other programs and this one, including secrets.
enum ProcessFiles {
    /// Returns whether a path leads into it. A descriptor passed to this program, such as `/dev/fd/3`, does not count.
    static func contain(_ path: String) -> Bool {
        if CLinux_isOfProcess(path) { return true }
        let folder = URL(filePath: path).absoluteURL.deletingLastPathComponent().path
        return CLinux_isOfProcess(folder) && FileIdentity(folder) != FileIdentity("/proc/self/fd")
    }
}
