import Glibc
import MobileToken

/// The passwords of the activations: lines of an activation's identifier, a space, and its password. A line that begins with
/// `*` is for all activations that have none of their own.
///
/// Passwords are read into memory that is wiped, whenever a factor is unlocked, and not kept in between: a file that is replaced
/// is heeded without a restart.
struct PasswordFile: Sendable {
    /// The name of the credential that systemd hands over.
    static let credentialName = "passwords"
    private static let maximumByteCount = 1 << 20

    let path: String
    /// The folder of systemd's credentials. They belong to the service by an access control list, which shows as a group's right.
    let credentialsFolder: String?

    /// Checks that the file can be read, is nobody else's, and consists of such lines.
    ///
    /// - Throws: ``ConfigurationError``.
    func check() throws {
        let contents = try self.read()
        let entries = try contents.withUnsafeBytes { try self.entries($0).count }
        guard entries > 0 else { throw self.error("holds no password") }
    }

    /// Returns the password of an activation.
    ///
    /// - Throws: ``ConfigurationError`` when there is none.
    func password(of activationID: String) throws -> SecretBytes {
        let contents = try self.read()
        return try contents.withUnsafeBytes { bytes in
            let entries = try self.entries(bytes)
            let own = entries.first { $0.id.elementsEqual(activationID.utf8) }
            guard let entry = own ?? entries.first(where: { $0.id.elementsEqual("*".utf8) }) else {
                throw self.error("holds no password for activation \(activationID)")
            }
            return SecretBytes(copying: entry.password)
        }
    }

    private func error(_ problem: String) -> ConfigurationError { ConfigurationError("passwordFile", problem) }

    // MARK: Lines

    private typealias Bytes = Slice<UnsafeRawBufferPointer>

    private func entries(_ bytes: UnsafeRawBufferPointer) throws -> [(id: Bytes, password: Bytes)] {
        // A server counts what is wrong with a password as a failed attempt.
        guard !bytes.contains(0), !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
            throw self.error("is in UTF-16 or has a zero byte: save it in UTF-8, as plain text")
        }
        let text = bytes[(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)...]
        return try text.split(separator: UInt8(ascii: "\n")).enumerated().map { number, line in
            guard let space = line.firstIndex(of: UInt8(ascii: " ")), space > line.startIndex,
                line.index(after: space) < line.endIndex, line.last != UInt8(ascii: "\r")
            else { throw self.error("line \(number + 1) is not an identifier, a space and a password") }
            return (line[..<space], line[line.index(after: space)...])
        }
    }

    // MARK: The file

    private func read() throws -> SecretBytes {
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw self.error("cannot be opened: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw self.error("is not a file")
        }
        try self.checkPermissions(status)
        guard status.st_size <= Self.maximumByteCount else { throw self.error("is too large") }
        return try SecretBytes(count: Int(status.st_size)) { buffer in
            var count = 0
            while count < buffer.count {
                let step = Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                guard step > 0 else { throw self.error("changed while it was read") }
                count += step
            }
        }
    }

    private func checkPermissions(_ status: stat) throws {
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw self.error("belongs to another user") }
        let isCredential = self.credentialsFolder.map { self.path.utf8.starts(with: "\($0)/".utf8) } ?? false
        let forbidden: mode_t = isCredential ? 0o037 : 0o077
        guard status.st_mode & forbidden == 0 else {
            throw self.error("can be read by others: its mode must be 0600")
        }
    }
}
