import Glibc
import PowerAuthClient

/// Prevents other processes from writing to a folder while it lives.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Creates the folder if it is missing.
    init(_ folder: String) throws {
        try PrivateFile.createFolder(folder)
        try PrivateFile.check(folder, isFolder: true, against: .change)
        self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw MobileTokenError.system("open the folder", folder) }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(self.descriptor)
            throw MobileTokenError(.storeBusy, "Another export to \(folder) is under way")
        }
    }

    deinit { close(self.descriptor) }
}
