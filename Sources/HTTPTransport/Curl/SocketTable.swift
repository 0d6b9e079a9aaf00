import CCurl

/// Which sockets epoll watches for what, and which change that needs.
///
/// libcurl stops watching a socket whenever a transfer ends, and starts again with the next one on that connection. To
/// save two system calls a request, a socket stays registered meanwhile; should it become ready while nobody wants to
/// know, it is taken out then.
struct SocketTable {
    enum Change: Equatable {
        case none
        case add(UInt32)
        case modify(UInt32)
        case delete
    }

    private struct Entry {
        var registered: UInt32
        var wanted: UInt32
    }

    private var entries: [Int32: Entry] = [:]
    /// Those whose end we hear about. Others (such as libcurl's resolver uses) may be closed and their number given
    /// away without a word, so they must not stay registered.
    private var kept: Set<Int32> = []

    /// A socket was opened: nothing that was known about its number holds any longer.
    mutating func opened(_ socket: Int32) {
        self.entries[socket] = nil
        self.kept.insert(socket)
    }

    /// A socket is about to be closed, which takes it out of epoll too.
    mutating func closed(_ socket: Int32) {
        self.entries[socket] = nil
        self.kept.remove(socket)
    }

    /// libcurl wants to hear of `events` on `socket`; of none when 0.
    mutating func want(_ events: UInt32, on socket: Int32) -> Change {
        let registered = self.entries[socket]?.registered ?? 0
        if events == 0 {
            if registered != 0, self.kept.contains(socket) {
                self.entries[socket]?.wanted = 0
                return .none
            }
            self.entries[socket] = nil
            return registered == 0 ? .none : .delete
        }
        self.entries[socket] = Entry(registered: events, wanted: events)
        return if registered == events { .none } else if registered == 0 { .add(events) } else { .modify(events) }
    }

    enum ReadyAction: Equatable {
        case tellCurl
        /// Nobody wants to know: take it out of epoll, which would report it again and again.
        case delete
    }

    /// epoll says that `socket` is ready.
    mutating func ready(_ socket: Int32) -> ReadyAction {
        if let entry = self.entries[socket], entry.wanted != 0 { return .tellCurl }
        self.entries[socket] = nil
        return .delete
    }
}
