import Glibc
import PowerAuthCrypto

/// Files and folders that only their owner may access, whatever the process's umask.
package enum PrivateFile {
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns whether the path exists, even as a dangling link.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Creates a folder and its missing parents with mode 0700.
    package static func createFolder(_ path: String) throws {
        guard !self.exists(path) else { return }
        let parent = self.folder(of: path)
        if parent != path { try self.createFolder(parent) }
        guard mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return }  // another process was quicker
            throw MobileTokenError.system("create the folder", path)
        }
        // A umask can only remove bits, so no other user could enter meanwhile.
        guard chmod(path, 0o700) == 0 else { throw MobileTokenError.system("set the mode of", path) }
        try self.synchronizeFolder(parent)
    }

    /// Creates a file with mode 0600 that appears under its name once it is completely on disk.
    ///
    /// - Returns: `false` if it exists already; it is unchanged.
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

    /// Atomically replaces a file with one of mode 0600.
    package static func replace(_ path: String, with bytes: UnsafeRawBufferPointer) throws {
        let temporary = try self.writeTemporary(for: path, bytes)
        guard rename(temporary, path) == 0 else {
            defer { unlink(temporary) }
            throw MobileTokenError.system("replace", path)
        }
        try self.synchronizeFolder(self.folder(of: path))
    }

    /// Links a closed file to another, free path once it is on disk.
    static func publish(_ file: String, as path: String) throws {
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open", file) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw MobileTokenError.system("write", file) }
        guard link(file, path) == 0 else { throw MobileTokenError.system("create", path) }
        try self.synchronizeFolder(self.folder(of: path))
    }

    static func temporaryName(for path: String) -> String {
        path + "." + SecureRandom.bytes(8).map { String($0, radix: 16) }.joined() + ".new"
    }

    /// Writes and closes a file beside `path`, before it gets its name: closing a database's descriptor drops the locks that
    /// SQLite holds on it elsewhere in the process.
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

    /// A permission that group and others must not have, as mode bits.
    package struct Exclusion {
        let bits: mode_t
        let name: String
        package static let use = Self(bits: 0o077, name: "use")
        package static let change = Self(bits: 0o022, name: "change")
    }

    /// Refuses a file or folder that others may access.
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

    /// Returns the content of a small file of exactly this size.
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
