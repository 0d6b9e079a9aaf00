internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// One client's connection, from its acceptance to its end.
///
/// All suspending and resuming goes through here, so that a connection is never resumed twice, never after its end, and
/// never left suspended when the server stops: the library calls each of these undefined behaviour.
final class ServerConnection: Sendable {
    private struct State {
        var isSuspended = false
        var isEnded = false
        /// When the client must have got on; `nil` while it is the server's turn.
        var deadline: ContinuousClock.Instant?
    }

    // The library owns what this points to from before `init` until it has announced the end, which `didClose` records.
    // Everything below reads it under the lock, and only while that has not happened; the functions called with it are
    // safe on any thread.
    private nonisolated(unsafe) let handle: OpaquePointer
    private let descriptor: Int32
    private let state: Mutex<State>

    init(_ handle: OpaquePointer, deadline: ContinuousClock.Instant) {
        self.handle = handle
        self.descriptor = CMicroHTTPD_descriptor(handle)
        self.state = Mutex(State(deadline: deadline))
    }

    /// Whether nothing more is to be read from it or written to it.
    var isEnded: Bool { self.state.withLock { $0.isEnded } }

    func setDeadline(_ deadline: ContinuousClock.Instant?) {
        self.state.withLock { $0.deadline = deadline }
    }

    /// Called on the server's thread, in a callback.
    ///
    /// - Returns: Whether it is suspended now; `false` when the connection has ended.
    func suspend() -> Bool {
        self.state.withLock { state in
            guard !state.isEnded else { return false }
            state.isSuspended = true
            MHD_suspend_connection(self.handle)
            return true
        }
    }

    func resume() {
        self.state.withLock { state in
            guard state.isSuspended else { return }
            state.isSuspended = false
            MHD_resume_connection(self.handle)
        }
    }

    /// Makes the server's thread drop the connection soon.
    func end() {
        self.state.withLock { self.end(&$0) }
    }

    /// Ends the connection if its deadline has passed.
    func end(ifOverdueAt now: ContinuousClock.Instant) {
        self.state.withLock { state in
            guard let deadline = state.deadline, deadline <= now else { return }
            self.end(&state)
        }
    }

    private func end(_ state: inout State) {
        guard !state.isEnded else { return }
        state.isEnded = true
        if state.isSuspended {
            state.isSuspended = false
            MHD_resume_connection(self.handle)
        } else {
            shutdown(self.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Answers the client with a reset instead of an end. Called on the server's thread, in a callback.
    func reset() {
        // Connecting to nowhere is how Linux tears a connection down without waiting for `close`.
        var nowhere = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        _ = connect(self.descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Called on the server's thread while the handle and the descriptor are still valid, and for the last time.
    func didClose() {
        self.state.withLock { state in
            state.isEnded = true
            state.isSuspended = false
        }
    }
}
