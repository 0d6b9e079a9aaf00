import Foundation
import Glibc

/// The files of a store: the database with SQLite's companions, and the lease file.
package struct StoreFiles {
    package let database: String

    /// The file in which processes queue for the right to sign; see ``LeaseFile``.
    package var lease: String { self.database + "-lease" }

    private var folder: String { PrivateFile.folder(of: self.database) }

    /// - Parameter path: Made absolute, so that the working directory may change.
    package init(path: String) {
        self.database = URL(fileURLWithPath: path).path
    }

    /// Creates missing files, and refuses files that others may access or that are not writable. SQLite's own files get the mode
    /// of the database.
    package func prepare() throws {
        try PrivateFile.createFolder(self.folder)
        try PrivateFile.check(self.folder, isFolder: true)
        for path in [self.database, self.lease] where !PrivateFile.exists(path) {
            _ = try PrivateFile.create(path, holding: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        for path in [self.folder, self.database, self.lease] {
            guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else {
                throw MobileTokenError.system("write to", path)
            }
        }
        try self.check()
    }

    struct Identity: Equatable {
        fileprivate let numbers: [UInt64]
    }

    var identity: Identity {
        get throws {
            Identity(
                numbers: try [self.database, self.lease].flatMap { path in
                    var status = stat()
                    guard stat(path, &status) == 0 else { throw MobileTokenError.system("look at", path) }
                    return [UInt64(status.st_dev), UInt64(status.st_ino)]
                }
            )
        }
    }

    package func check() throws {
        try PrivateFile.check(self.database)
        try PrivateFile.check(self.lease)
        // SQLite's companion files may vanish at any time; a missing one needs no check.
        for suffix in ["-wal", "-shm", "-journal"] where PrivateFile.exists(self.database + suffix) {
            try PrivateFile.check(self.database + suffix)
        }
    }
}
