import CMicroHTTPD
import Glibc
import Synchronization

/// One client's connection, from its acceptance to its end.
///
/// All suspending and resuming goes through here, so that a connection is never resumed twice, never after its end, and
/// never left suspended when the server stops: the library calls each of these undefined behavior.
final class ServerConnection: Sendable {
    private struct State {
        var isSuspended = false
        var isEnded = false
        /// The time when the client must have got on; `nil` while it is the server's turn.
        var deadline: Duration?
        /// Indicates whether a request, or the rest of one, is waited for.
        var isReceiving = true
        /// Indicates whether the client had closed its side at the previous check.
        var seemsAbandoned = false
    }

    // The library owns what this points to from before `init` until it has announced the end, which `didClose` records.
    // Everything below reads it under the lock, and only while that has not happened; the functions called with it are
    // safe on any thread.
    private nonisolated(unsafe) let handle: OpaquePointer
    private let descriptor: Int32
    /// The numeric address of the client.
    let peerAddress: String?
    private let state: Mutex<State>

    init(_ handle: OpaquePointer, deadline: Duration) {
        self.handle = handle
        self.descriptor = CMicroHTTPD_descriptor(handle)
        self.peerAddress = SocketAddress(peerOf: self.descriptor)?.numericHost
        self.state = Mutex(State(deadline: deadline))
    }

    /// Indicates whether nothing more is to be read from it or written to it.
    var isEnded: Bool { self.state.withLock { $0.isEnded } }

    /// The client must have sent its next request by then.
    func receive(by deadline: Duration) {
        self.state.withLock { state in
            state.deadline = deadline
            state.isReceiving = true
            state.seemsAbandoned = false
        }
    }

    /// The response is whole; the client must have read it by then.
    func respond(by deadline: Duration) {
        self.state.withLock { state in
            state.deadline = deadline
            state.isReceiving = false
        }
    }

    /// The client need not get on until the connection is resumed. Called on the server's thread, in a callback.
    ///
    /// - Returns: `true` when it is suspended now; `false` when the connection has ended.
    func suspend() -> Bool {
        self.state.withLock { state in
            guard !state.isEnded else { return false }
            state.isSuspended = true
            state.deadline = nil
            state.isReceiving = false
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

    /// Writes `response` as it stands, for what the library could not respond to, and makes the server's thread drop the
    /// connection. Called on that thread, in a callback.
    func end(saying response: String) {
        self.state.withLock { state in
            guard !state.isEnded else { return }
            var response = response
            _ = response.withUTF8 {
                send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            self.end(&state)
        }
    }

    /// Ends the connection if its deadline has passed, or if the client has gone in the middle of a request.
    ///
    /// The library overlooks an end that arrives together with the bytes before it, and would wait for the deadline. Only
    /// what was so at two looks in a row counts: in between, the library had the time to read on.
    func end(ifOverdueAt now: Duration) {
        self.state.withLock { state in
            guard !state.isEnded, let deadline = state.deadline else { return }
            let isAbandoned = state.isReceiving && self.hasReachedEnd
            if deadline <= now || isAbandoned && state.seemsAbandoned { self.end(&state) }
            state.seemsAbandoned = isAbandoned
        }
    }

    /// Indicates whether all that the client sent was read, and nothing more can come.
    private var hasReachedEnd: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
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

    /// Resets the connection instead of closing it. Called on the server's thread, in a callback.
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
