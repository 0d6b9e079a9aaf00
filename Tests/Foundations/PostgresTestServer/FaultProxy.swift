import Foundation
import Glibc
import Synchronization

/// Stands between a client and a server on the loopback interface, and does what networks do.
package final class FaultProxy: Sendable {
    package enum Mode: Sendable, Equatable {
        case pass
        /// Nothing moves, and nobody is told.
        case freeze
        /// The client's bytes arrive, and the server's answers do not.
        case loseReplies
        /// New connections end at once.
        case refuse
    }

    package let port: Int
    private let core: Core

    /// Opens a port for connections to another one.
    ///
    /// - Parameter namespace: The network namespace of the port, open there at every address; `nil` opens it on
    ///   loopback alone.
    package init(to target: Int, in namespace: NetworkNamespace? = nil) throws {
        let listener =
            if let namespace {
                try namespace.perform { try LoopbackSocket.listening(everywhere: true) }
            } else {
                try LoopbackSocket.listening()
            }
        self.port = try LoopbackSocket.port(of: listener)
        self.core = Core(listener: listener, target: target)
        Thread.detachNewThread { [core] in core.accept() }
    }

    deinit { self.core.end() }

    package var mode: Mode {
        get { self.core.state.withLock { $0.mode } }
        set { self.core.state.withLock { $0.mode = newValue } }
    }

    /// Ends all connections, in the middle of whatever is said.
    package func cut() { self.core.cut() }

    package var sentByteCount: Int { self.core.state.withLock { $0.sentByteCount } }

    package var lostByteCount: Int { self.core.state.withLock { $0.lostByteCount } }

    /// The connections that clients have made so far.
    package var connectionCount: Int { self.core.state.withLock { $0.connectionCount } }
}

/// The state that the threads share. They end when it is told to.
private final class Core: Sendable {
    struct State {
        var mode = FaultProxy.Mode.pass
        var hasEnded = false
        var open: Set<Int32> = []
        var sentByteCount = 0
        var lostByteCount = 0
        var connectionCount = 0
    }

    let state = Mutex(State())
    private let listener: Int32
    private let target: Int

    init(listener: Int32, target: Int) {
        self.listener = listener
        self.target = target
    }

    func end() {
        self.state.withLock { $0.hasEnded = true }
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.cut()
    }

    func cut() {
        // Only shut down: who reads them closes them, so that no number is given away under a reader.
        self.state.withLock { state in for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    func accept() {
        while true {
            let client = Glibc.accept(self.listener, nil, nil)
            guard client >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            self.state.withLock { $0.connectionCount += 1 }
            guard self.mode != .refuse, let server = try? LoopbackSocket.connected(to: self.target) else {
                close(client)
                continue
            }
            self.carry(between: client, and: server)
        }
        close(self.listener)
    }

    private var mode: FaultProxy.Mode { self.state.withLock { $0.mode } }
    private var hasEnded: Bool { self.state.withLock { $0.hasEnded } }

    private func carry(between client: Int32, and server: Int32) {
        // Both directions write to what the other one reads, so the last of them closes both.
        let pair = Pair(client, server, self)
        Thread.detachNewThread { self.pump(from: client, to: server, isReply: false, pair) }
        Thread.detachNewThread { self.pump(from: server, to: client, isReply: true, pair) }
    }

    private final class Pair: Sendable {
        private let descriptors: [Int32]
        private let core: Core

        init(_ one: Int32, _ other: Int32, _ core: Core) {
            self.descriptors = [one, other]
            self.core = core
            core.state.withLock { $0.open.formUnion([one, other]) }
        }

        deinit {
            self.core.state.withLock { state in
                for descriptor in self.descriptors {
                    state.open.remove(descriptor)
                    close(descriptor)
                }
            }
        }
    }

    private func pump(from source: Int32, to sink: Int32, isReply: Bool, _ pair: Pair) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            while self.mode == .freeze, !self.hasEnded { usleep(1_000) }
            if isReply, self.mode == .loseReplies {
                self.state.withLock { $0.lostByteCount += count }
                continue
            }
            if !isReply { self.state.withLock { $0.sentByteCount += count } }
            guard send(sink, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
        withExtendedLifetime(pair) {}
    }
}

package enum LoopbackSocket {
    /// - Parameter everywhere: `true` if it listens at all addresses, as is safe in a namespace that nobody else is in.
    package static func listening(everywhere: Bool = false) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try self.withAddress(port: 0, everywhere ? INADDR_ANY : INADDR_LOOPBACK) { address, length in
            guard bind(descriptor, address, length) == 0, listen(descriptor, 64) == 0 else { throw self.failure() }
        }
        return descriptor
    }

    package static func connected(to port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try self.withAddress(port: port) { address, length in
            guard connect(descriptor, address, length) == 0 else {
                close(descriptor)
                throw self.failure()
            }
        }
        return descriptor
    }

    package static func port(of descriptor: Int32) throws -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0 else { throw self.failure() }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// A port that nobody had a moment ago.
    package static func freePort() throws -> Int {
        let descriptor = try self.listening()
        defer { close(descriptor) }
        return try self.port(of: descriptor)
    }

    private static func withAddress(
        port: Int,
        _ host: UInt32 = INADDR_LOOPBACK,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void
    ) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = host.bigEndian
        try withUnsafePointer(to: address) { address in
            try address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
