import Dispatch
import Glibc
import Synchronization

/// Writes lines to a descriptor on a thread of its own, so that a reader who is slow keeps nobody waiting.
///
/// Lines that find no room are dropped and counted.
public final class LogWriter: Sendable {
    private struct State {
        var waiting: [[UInt8]] = []
        var isWriting = false
        var droppedCount = 0
    }

    private let descriptor: Int32
    private let capacity: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "log")

    /// Writes to standard error.
    public convenience init() { self.init(descriptor: STDERR_FILENO) }

    /// - Parameters:
    ///   - descriptor: The descriptor that lines are written to.
    ///   - capacity: The number of lines that may wait.
    init(descriptor: Int32, capacity: Int = 10_000) {
        self.descriptor = descriptor
        self.capacity = capacity
    }

    /// The number of lines dropped.
    var droppedCount: Int { self.state.withLock { $0.droppedCount } }

    /// Takes a line; it has its line feed already.
    func write(_ line: [UInt8]) {
        let mustStart = self.state.withLock { state in
            guard state.waiting.count < self.capacity else {
                state.droppedCount += 1
                return false
            }
            state.waiting.append(line)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { self.queue.async { self.drain() } }
    }

    /// Waits until all that was taken is written, for the end of the process.
    public func flush() { self.queue.sync { self.drain() } }

    private func drain() {
        while let lines = self.take() {
            for line in lines { Self.write(line, to: self.descriptor) }
        }
    }

    private func take() -> [[UInt8]]? {
        self.state.withLock { state in
            defer { state.waiting = [] }
            state.isWriting = !state.waiting.isEmpty
            return state.isWriting ? state.waiting : nil
        }
    }

    private static func write(_ line: [UInt8], to descriptor: Int32) {
        line.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                guard count > 0 || errno == EINTR else { return }  // nobody reads any more
                written += max(0, count)
            }
        }
    }
}
