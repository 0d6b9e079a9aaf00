import Glibc

/// Files that only their owner may read or write, whatever the process's umask: an exported state holds private keys.
enum ServerFile {
    private static let mode: mode_t = 0o600

    /// Makes an empty file if there is none, or keeps others from the one there is.
    static func prepare(_ path: String) throws(EmulatorError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, Self.mode)
        guard descriptor < 0 else {
            defer { close(descriptor) }  // there can be no lock on it that this would drop
            guard fchmod(descriptor, Self.mode) == 0 else { throw .system("set the mode of", path) }
            return
        }
        guard errno == EEXIST else { throw .system("create", path) }
        try self.restrict(path)
    }

    /// Restricts an existing file to its owner.
    ///
    /// It is not opened: closing a descriptor would drop another server's locks in this process.
    static func restrict(_ path: String) throws(EmulatorError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .system("look at", path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw EmulatorError(.storage, "\(path) is no regular file")
        }
        guard status.st_mode & 0o077 == 0 || chmod(path, Self.mode) == 0 else { throw .system("set the mode of", path) }
    }

    /// Puts a file in the place of the one there is, if there is one: under its name there is always one of them, whole.
    static func write(_ bytes: [UInt8], to path: String) throws(EmulatorError) {
        try self.requireReplaceable(path)
        let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
        let temporary = "\(path).\(suffix).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, Self.mode)
        guard descriptor >= 0 else { throw .system("create", path) }
        do throws(EmulatorError) {
            defer { close(descriptor) }
            guard fchmod(descriptor, Self.mode) == 0, self.writeAll(bytes, to: descriptor), fsync(descriptor) == 0
            else { throw EmulatorError.system("write", path) }
            guard rename(temporary, path) == 0 else { throw EmulatorError.system("replace", path) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Refuses symbolic links, through which another user could lead the keys elsewhere, and devices and pipes, which the file
    /// would replace.
    private static func requireReplaceable(_ path: String) throws(EmulatorError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw EmulatorError(.storage, "\(path) is no regular file")
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

extension EmulatorError {
    /// Creates the error of a failed system call from `errno`.
    fileprivate static func system(_ action: String, _ path: String) -> Self {
        let reason = String(cString: strerror(errno))
        return Self(.storage, "Cannot \(action) \(path): \(reason)")
    }
}
