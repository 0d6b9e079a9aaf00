import CPostgreSQL
import Glibc

/// Interrupts a thread that waits for a socket.
package final class Interrupt: Sendable {
    /// Readable while raised.
    let descriptor: Int32

    package init() {
        self.descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    /// Raises the interrupt, on any thread.
    package func raise() {
        var one: UInt64 = 1
        _ = write(self.descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Clears an earlier raise.
    package func lower() {
        var count: UInt64 = 0
        _ = read(self.descriptor, &count, MemoryLayout<UInt64>.size)
    }
}

/// Waits for a socket, an interrupt or a deadline.
struct SocketWait {
    enum Outcome {
        case ready
        case interrupted
        case late
    }

    /// The longest step of `poll`. Its clock stops while the machine sleeps.
    private static let longestStep = Duration.seconds(1)

    /// Returns whether there is input, including the end.
    static func isReadable(_ socket: Int32) -> Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) != 0
    }

    static func wait(
        for socket: Int32,
        writing: Bool,
        or interrupt: Interrupt?,
        until deadline: ContinuousClock.Instant
    ) -> Outcome {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .late }
            let step = min(left, self.longestStep)
            var descriptors = [
                pollfd(fd: socket, events: Int16(POLLIN) | (writing ? Int16(POLLOUT) : 0), revents: 0),
                pollfd(fd: interrupt?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            // Rounded up, to avoid spinning in the last millisecond.
            let count = poll(&descriptors, 2, Int32(step / .milliseconds(1)) + 1)
            guard count > 0 else { continue }
            if descriptors[0].revents != 0 { return .ready }
            if descriptors[1].revents != 0 { return .interrupted }
        }
    }
}
