import Foundation
import Glibc
package import PowerAuthCrypto

/// Reads secrets from the first line of files and descriptors.
package enum SecretFile {
    /// Reads the first line of a file, or of `/dev/fd/N`.
    ///
    /// - Parameter what: The name of the secret in messages.
    /// - Throws: ``UsageError`` if it is unreadable.
    package static func firstLine(ofFile path: String, naming what: String) throws -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UsageError(message: "cannot read the \(what) file: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        Self.warn(ofOthersUsing: descriptor, path)
        return try self.firstLine(of: descriptor, naming: what)
    }

    /// Warns if others can read the secret. Group access is allowed, because service managers use it.
    private static func warn(ofOthersUsing descriptor: CInt, _ path: String) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o037 != 0 else {
            return
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        Output.note("\(CommandLineProgram.name): others may use \(TextTable.printable(path)), whose mode is 0\(mode)")
    }

    /// Reads the bytes up to the first line break, one at a time so that no later byte is consumed.
    ///
    /// - Throws: `CancellationError` if `interruptByte` comes first.
    package static func firstLine(
        of descriptor: CInt,
        naming what: String,
        interruptByte: UInt8? = nil
    ) throws -> SecretBytes {
        let limit = 1024
        var count = 0
        var isInterrupted = false
        var failure: CInt = 0
        let buffer = SecretBytes(count: limit) { bytes in
            var byte: UInt8 = 0
            while count < limit {
                let got = Glibc.read(descriptor, &byte, 1)
                if got < 0 {
                    if errno == EINTR { continue }
                    failure = errno
                }
                guard got == 1, byte != UInt8(ascii: "\n") else { break }
                if byte == interruptByte {
                    isInterrupted = true
                    break
                }
                bytes[count] = byte
                count += 1
            }
            if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        }
        guard !isInterrupted else { throw CancellationError() }
        guard failure == 0 else {
            throw UsageError(message: "cannot read the \(what): \(String(cString: strerror(failure)))")
        }
        guard count < limit else { throw UsageError(message: "the \(what) is longer than \(limit - 1) bytes") }
        let length = count
        return try buffer.withUnsafeBytes { all in
            SecretBytes(copying: try Self.withoutByteOrderMark(all.prefix(length), naming: what))
        }
    }

    /// Returns the bytes after a byte-order mark, which some editors add. Text in another encoding is refused, because a server
    /// counts a wrong secret as a failed attempt.
    private static func withoutByteOrderMark(
        _ line: Slice<UnsafeRawBufferPointer>,
        naming what: String
    ) throws -> Slice<UnsafeRawBufferPointer> {
        guard !line.contains(0), !line.starts(with: [0xFF, 0xFE]), !line.starts(with: [0xFE, 0xFF]) else {
            throw UsageError(message: "the \(what) is in UTF-16 or has a zero byte: save it in UTF-8, as plain text")
        }
        return line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    }
}
