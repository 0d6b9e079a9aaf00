import Glibc
import PowerAuthClient

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
        do { try bytes.withUnsafeBytes { try PrivateFile.replace(path, with: $0) } } catch {
            throw EmulatorError(.storage, (error as? MobileTokenError)?.message ?? "\(error)")
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
}

extension EmulatorError {
    /// Creates the error of a failed system call from `errno`.
    fileprivate static func system(_ action: String, _ path: String) -> Self {
        let reason = String(cString: strerror(errno))
        return Self(.storage, "Cannot \(action) \(path): \(reason)")
    }
}
