import CLinux
import CommandLineSupport
import Foundation
import Glibc

/// A file in memory, sealed by the kernel: not even its creator can change its bytes. Closed when it is released.
final class SealedFile: Sendable {
    let descriptor: CInt

    /// The path by which a process with the descriptor opens it.
    var path: String { "/proc/self/fd/\(self.descriptor)" }

    /// The minimum descriptor number. Programs that close inherited descriptors reuse the lowest numbers for other files, so the
    /// path must not lead there.
    private static let lowestDescriptor: CInt = 100

    /// - Throws: `UsageError` if the system has no such files, or no room.
    init(holding bytes: [UInt8]) throws {
        let made = memfd_create("mobile-token", UInt32(MFD_CLOEXEC) | UInt32(MFD_ALLOW_SEALING))
        guard made >= 0 else { throw Self.failure("make") }
        defer { close(made) }
        self.descriptor = fcntl(made, F_DUPFD_CLOEXEC, Self.lowestDescriptor)
        guard self.descriptor >= 0 else { throw Self.failure("make") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw Self.failure("fill") }
            rest = rest.dropFirst(max(0, count))
        }
        guard lseek(self.descriptor, 0, SEEK_SET) == 0,
            fcntl(self.descriptor, CLinux_addSeals, CLinux_allSeals) == 0,
            fcntl(self.descriptor, CLinux_getSeals, 0) & CLinux_allSeals == CLinux_allSeals
        else { throw Self.failure("seal") }
    }

    deinit { close(self.descriptor) }

    private static func failure(_ action: String) -> UsageError {
        UsageError(message: "cannot \(action) a file in memory: \(String(cString: strerror(errno)))")
    }
}
