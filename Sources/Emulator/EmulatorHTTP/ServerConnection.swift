import CMicroHTTPD
import Glibc
import Synchronization

/// A client's connection, from its acceptance to its end.
///
/// All suspending and resuming happens here, so that a connection is never resumed twice, never after its end, and never left
/// suspended when the server stops: the library calls each of these undefined behavior.
final class ServerConnection: Sendable {
    private struct State {
        var isSuspended = false
        var isEnded = false
        /// The deadline for the client; `nil` while it is the server's turn.
        var deadline: Duration?
        /// Indicates whether a request, or the rest of one, is expected.
        var isReceiving = true
        /// Indicates whether the client had closed its side at the previous check.
        var seemsAbandoned = false
    }

    // The library owns the pointee from before `init` until it announces the end, which `didClose` records. All code below reads
    // it under the lock, and only before that; the functions called with it are thread-safe.
    private nonisolated(unsafe) let handle: OpaquePointer
    private let descriptor: Int32
    /// The numeric address of the client.
    let peerAddress: String?
    private let state: Mutex<State>

    init(_ handle: OpaquePointer, deadline: Duration) {
        self.handle = handle
        self.descriptor = CMicroHTTPD_descriptor(handle)
        self.peerAddress = SocketAddress(of: self.descriptor, getpeername)?.numericHost
        self.state = Mutex(State(deadline: deadline))
    }

    /// Indicates whether nothing more is read or written.
    var isEnded: Bool { self.state.withLock { $0.isEnded } }

    /// Sets the deadline for the client's next request.
    func receive(by deadline: Duration) {
        self.state.withLock { state in
            state.deadline = deadline
            state.isReceiving = true
            state.seemsAbandoned = false
        }
    }

    /// Sets the deadline for reading the complete response.
    func respond(by deadline: Duration) {
        self.state.withLock { state in
            state.deadline = deadline
            state.isReceiving = false
        }
    }

    /// Suspends the connection and the client's deadline. Called on the server's thread, in a callback.
    ///
    /// - Returns: `true` if it is suspended; `false` if the connection has ended.
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

    /// Writes `response` unchanged, for a request that the library could not respond to, and makes the server's thread drop the
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

    /// Ends the connection if its deadline has passed, or the client has left during a request.
    ///
    /// The library overlooks an end that arrives together with data, and would wait for the deadline. Only two consecutive
    /// findings count, because the library may read on in between.
    func end(ifOverdueAt now: Duration) {
        self.state.withLock { state in
            guard !state.isEnded, let deadline = state.deadline else { return }
            let isAbandoned = state.isReceiving && self.hasReachedEnd
            if deadline <= now || isAbandoned && state.seemsAbandoned { self.end(&state) }
            state.seemsAbandoned = isAbandoned
        }
    }

    /// Indicates whether all the client's data were read, and no more can come.
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
        // On Linux, connecting to an unspecified address tears a connection down without waiting for `close`.
        var nowhere = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        _ = connect(self.descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// The last call on the server's thread, while the handle and the descriptor are still valid.
    func didClose() {
        self.state.withLock { state in
            state.isEnded = true
            state.isSuspended = false
        }
    }
}
