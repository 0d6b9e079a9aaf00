import EmulatorMessages
import Synchronization

/// The body of a response while it is being written.
///
/// The server's thread reads it, and suspends the connection while it is empty. A reader that falls a megabyte behind loses its
/// connection.
final class BodyStream: BodyWriter {
    private enum End {
        case complete, aborted
    }

    private struct State {
        var pending: ArraySlice<UInt8> = []
        var end: End?
        var isSuspended = false
    }

    private static let capacity = 1 << 20
    // `MHD_CONTENT_READER_END_OF_STREAM` and `…_WITH_ERROR`, whose casts Swift does not import.
    private static let endOfBody = -1
    private static let failure = -2
    private let connection: ServerConnection
    private let state = Mutex(State())

    init(connection: ServerConnection) {
        self.connection = connection
    }

    /// Indicates whether writing is over: the body is complete, or is no longer read.
    var isClosed: Bool { self.state.withLock { $0.end != nil } }

    func write(_ bytes: some Collection<UInt8>) {
        self.update { state in
            state.pending.append(contentsOf: bytes)
            if state.pending.count > Self.capacity { state.end = .aborted }
        }
    }

    func finish() { self.update { $0.end = .complete } }

    /// Ends the connection before the body is complete; the data already written are sent.
    func abort() { self.update { $0.end = .aborted } }

    private func update(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            guard state.end == nil else { return }
            change(&state)
            guard state.isSuspended else { return }
            state.isSuspended = false
            self.connection.resume()
        }
    }

    /// Called on the server's thread. Suspends the connection, and returns 0, while there is nothing to send.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        self.state.withLock { state in
            let count = min(buffer.count, state.pending.count)
            if count > 0 {
                buffer.copyBytes(from: state.pending.prefix(count))
                state.pending.removeFirst(count)
                if state.pending.isEmpty { state.pending = [] }
                return count
            }
            switch state.end {
            case .complete: return Self.endOfBody
            case .aborted: return Self.failure
            case nil:
                guard self.connection.suspend() else { return Self.failure }
                state.isSuspended = true
                return 0
            }
        }
    }

    /// Called on the server's thread when the body is no longer read.
    func close() {
        self.state.withLock { state in
            state.end = state.end ?? .aborted
            state.pending = []
            state.isSuspended = false
        }
    }
}
