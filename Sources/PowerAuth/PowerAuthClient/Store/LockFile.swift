import Glibc

/// Locks on single bytes of a file, shared by the processes of one machine. The kernel frees a lock when its holder dies, so no
/// timeout is involved. Locks of open file descriptions (`F_OFD_SETLK`) also separate holders within one process, and survive
/// closing other descriptors of the file. File systems that do not share such locks between machines, such as NFS, do not
/// separate machines.
package final class LockFile: Sendable {
    /// `F_OFD_SETLK`, which Swift cannot import from Linux's headers.
    private static let setOpenFileDescriptionLock: Int32 = 37
    private static let getOpenFileDescriptionLock: Int32 = 36

    let descriptor: Int32

    /// Opens an existing file.
    init(path: String) throws {
        self.descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw MobileTokenError.system("open", path) }
    }

    /// Opens a private file. A missing one is created with its folder.
    ///
    /// - Throws: A `store…` code of ``MobileTokenError/Code``.
    package convenience init(creating path: String) throws {
        let folder = PrivateFile.folder(of: path)
        try PrivateFile.createFolder(folder)
        try PrivateFile.check(folder, isFolder: true)
        if !PrivateFile.exists(path) {
            _ = try PrivateFile.create(path, holding: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        try PrivateFile.check(path)
        try self.init(path: path)
    }

    deinit { close(self.descriptor) }

    /// Locks a byte; `false` if another holder has it.
    package func tryLock(_ offset: Int64) throws -> Bool {
        guard !self.setLock(F_WRLCK, at: offset) else { return true }
        guard errno == EAGAIN || errno == EACCES else { throw MobileTokenError.system("lock a byte of", "a lock file") }
        return false
    }

    package func unlock(_ offset: Int64) {
        _ = self.setLock(F_UNLCK, at: offset)
    }

    /// Returns any byte in the range that another holder has locked; `nil` if there is none.
    package func lockOfAnother(in range: Range<Int64>) throws -> Int64? {
        guard !range.isEmpty else { return nil }  // a length of zero would mean all there is
        var lock = Self.lock(F_WRLCK, at: range.lowerBound, count: range.upperBound - range.lowerBound)
        guard fcntl(self.descriptor, Self.getOpenFileDescriptionLock, &lock) == 0 else {
            throw MobileTokenError.system("look at the locks of", "a lock file")
        }
        return lock.l_type == Int16(F_UNLCK) ? nil : max(range.lowerBound, Int64(lock.l_start))
    }

    private func setLock(_ type: Int32, at offset: Int64) -> Bool {
        var lock = Self.lock(type, at: offset, count: 1)
        return fcntl(self.descriptor, Self.setOpenFileDescriptionLock, &lock) == 0
    }

    private static func lock(_ type: Int32, at offset: Int64, count: Int64) -> flock {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(offset)
        lock.l_len = off_t(count)
        return lock
    }
}
