import Foundation
import Glibc

/// The files of a store: the database with SQLite's companions, and the lease file.
package struct StoreFiles {
    package let database: String

    /// The file at which processes queue for the right to sign; see ``LeaseFile``.
    package var lease: String { self.database + "-lease" }

    private var folder: String { PrivateFile.folder(of: self.database) }

    /// - Parameter path: Made absolute, so that a later change of the working directory does not matter.
    package init(path: String) {
        self.database = URL(fileURLWithPath: path).path
    }

    /// Makes what is missing, and refuses what others may read or write, or what cannot be written.
    ///
    /// SQLite gives the files it makes the mode of the database.
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

    /// Refuses files that others may read or write.
    package func check() throws {
        try PrivateFile.check(self.database)
        try PrivateFile.check(self.lease)
        // SQLite's companions come and go with its connections: one that is not there any more needs no check.
        for suffix in ["-wal", "-shm", "-journal"] where PrivateFile.exists(self.database + suffix) {
            try PrivateFile.check(self.database + suffix)
        }
    }
}
