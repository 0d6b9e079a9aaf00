import Foundation
import Glibc
package import PowerAuthCrypto

/// Reads secrets from files and descriptors: their first line.
package enum SecretFile {
    /// Reads the first line of a file, or of `/dev/fd/N`.
    ///
    /// - Parameter what: The name of the secret in messages.
    /// - Throws: ``UsageError`` when it cannot be read.
    package static func firstLine(ofFile path: String, naming what: String) throws -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UsageError(message: "cannot read the \(what) file: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        Self.warn(ofOthersUsing: descriptor, path)
        return try self.firstLine(of: descriptor, naming: what)
    }

    /// Says so when others can read the secret. The group may: service managers hand secrets over so.
    private static func warn(ofOthersUsing descriptor: CInt, _ path: String) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o037 != 0 else {
            return
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        Output.note("\(CommandLineProgram.name): others may use \(TextTable.printable(path)), whose mode is 0\(mode)")
    }

    /// Reads the bytes up to the first line break, one at a time so that nothing after it is consumed.
    ///
    /// - Throws: `CancellationError` when `interruptByte` comes first.
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
        return buffer.withUnsafeBytes { all in SecretBytes(copying: all.prefix(length)) }
    }
}
