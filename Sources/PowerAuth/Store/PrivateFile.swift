import Glibc
import PowerAuthCrypto

/// Files and folders that only their owner may enter, read or write, whatever the process's umask.
package enum PrivateFile {
    /// Returns the folder of a file.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns whether anything has this name, a link to nowhere included.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Makes a folder, and those above it that are missing, with mode 0700.
    package static func createFolder(_ path: String) throws {
        guard !self.exists(path) else { return }
        let parent = self.folder(of: path)
        if parent != path { try self.createFolder(parent) }
        guard mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return }  // another process was quicker
            throw MobileTokenError.system("create the folder", path)
        }
        // A umask can only have taken bits away, so no other user could enter meanwhile.
        guard chmod(path, 0o700) == 0 else { throw MobileTokenError.system("set the mode of", path) }
        try self.synchronizeFolder(parent)
    }

    /// Makes a file of mode 0600 that appears under its name only when all of it is on the disk.
    ///
    /// - Returns: `true` if it was made; `false` when there is one already, which stays as it is.
    package static func create(_ path: String, holding bytes: UnsafeRawBufferPointer) throws -> Bool {
        let temporary = try self.writeTemporary(for: path, bytes)
        defer { unlink(temporary) }
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            throw MobileTokenError.system("create", path)
        }
        try self.synchronizeFolder(self.folder(of: path))
        return true
    }

    /// Puts a file of mode 0600 in the place of another one, in one step.
    package static func replace(_ path: String, with bytes: UnsafeRawBufferPointer) throws {
        let temporary = try self.writeTemporary(for: path, bytes)
        guard rename(temporary, path) == 0 else {
            defer { unlink(temporary) }
            throw MobileTokenError.system("replace", path)
        }
        try self.synchronizeFolder(self.folder(of: path))
    }

    /// Gives a file that nothing has open another name too, which must be free, when all of it is on the disk.
    static func publish(_ file: String, as path: String) throws {
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open", file) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw MobileTokenError.system("write", file) }
        guard link(file, path) == 0 else { throw MobileTokenError.system("create", path) }
        try self.synchronizeFolder(self.folder(of: path))
    }

    /// Returns a random name in the folder of `path`.
    static func temporaryName(for path: String) -> String {
        path + "." + SecureRandom.bytes(8).map { String($0, radix: 16) }.joined() + ".new"
    }

    /// Writes a file beside `path` to the disk, and closes it before it has its name: closing a descriptor of a database
    /// drops the locks that SQLite holds on it elsewhere in the process.
    private static func writeTemporary(for path: String, _ bytes: UnsafeRawBufferPointer) throws -> String {
        let temporary = self.temporaryName(for: path)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw MobileTokenError.system("create", path) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0, self.write(bytes, to: descriptor), fsync(descriptor) == 0 else {
            defer { unlink(temporary) }
            throw MobileTokenError.system("write", path)
        }
        return temporary
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            guard count >= 0 || errno == EINTR else { return false }
            written += max(0, count)
        }
        return true
    }

    /// A permission that group and others must not have, by the bits of the mode.
    package struct Exclusion {
        let bits: mode_t
        let name: String
        package static let use = Self(bits: 0o077, name: "use")
        package static let change = Self(bits: 0o022, name: "change")
    }

    /// Refuses a file, or a folder, that is not its owner's alone.
    package static func check(_ path: String, isFolder: Bool = false, against others: Exclusion = .use) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw MobileTokenError.system("look at", path) }
        guard status.st_mode & S_IFMT == (isFolder ? S_IFDIR : S_IFREG) else {
            throw MobileTokenError(.storePermissions, "\(path) is not a \(isFolder ? "folder" : "regular file")")
        }
        guard status.st_uid == geteuid() else {
            throw MobileTokenError(
                .storePermissions,
                "\(path) belongs to user \(status.st_uid), but this process runs as user \(geteuid())"
            )
        }
        guard status.st_mode & others.bits == 0 else {
            throw MobileTokenError(
                .storePermissions,
                """
                Others may \(others.name) \(path), whose mode is 0\(String(status.st_mode & 0o777, radix: 8)): \
                keep the store in a folder of its own, and run chmod \(isFolder ? 700 : 600) on this
                """
            )
        }
    }

    /// Returns a small file's bytes, of which there must be exactly so many.
    static func read(_ path: String, byteCount: Int) throws -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw MobileTokenError.system("look at", path) }
        guard status.st_size == byteCount else {
            throw MobileTokenError(.storeSealingKeyMissing, "\(path) does not hold \(byteCount) bytes")
        }
        return try SecretBytes(count: byteCount) { target in
            guard pread(descriptor, target.baseAddress, byteCount, 0) == byteCount else {
                throw MobileTokenError.system("read", path)
            }
        }
    }

    /// Makes new names in a folder durable.
    private static func synchronizeFolder(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open the folder", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw MobileTokenError.system("write the folder", path) }
    }
}

extension MobileTokenError {
    /// Returns the error of a system call that failed just now; reads `errno`.
    package static func system(_ action: String, _ path: String) -> Self {
        let number = errno
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT, EFBIG: .storeFull
            case EROFS, EACCES, EPERM: .storeReadOnly
            default: .storeUnreadable
            }
        return Self(code, "Cannot \(action) \(path): \(String(cString: strerror(number)))")
    }
}
