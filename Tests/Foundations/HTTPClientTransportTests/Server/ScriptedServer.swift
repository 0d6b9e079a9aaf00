import Foundation
import Glibc
import Synchronization

/// A server on loopback that does to each connection exactly what its script says, right or wrong.
///
/// The script runs on a thread of its own for each connection, with blocking sockets. What happens is kept in a journal
/// that tests wait on.
final class ScriptedServer: Sendable {
    enum Event: Equatable {
        case accepted(connection: Int)
        case request(connection: Int, ReceivedRequest)
        /// The script passed a point that it named.
        case reached(connection: Int, String)
        /// The client closed its side, or broke the connection.
        case clientClosed(connection: Int)
        /// The script is through, and our side is closed.
        case closed(connection: Int)
    }

    let port: UInt16
    private let listener: Int32
    private let journal = Mutex((events: [Event](), waiters: [Waiter]()))

    private struct Waiter {
        var condition: @Sendable ([Event]) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    init(script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
        (self.listener, self.port) = try Self.listen(backlog: 128)
        Thread.detachNewThread { [self] in
            var index = 0
            while true {
                let descriptor = accept(self.listener, nil, nil)
                guard descriptor >= 0 else { break }
                let number = index
                index += 1
                self.record(.accepted(connection: number))
                Thread.detachNewThread {
                    let connection = ScriptedConnection(descriptor: descriptor, index: number, server: self)
                    script(connection)
                    connection.close()
                }
            }
            // Closed here and not in `stop()`: the number must not be given away while this thread may still use it.
            close(self.listener)
        }
    }

    /// Ends the listener; connections end with their scripts.
    func stop() {
        shutdown(self.listener, Int32(SHUT_RDWR))
    }

    var url: String { "http://127.0.0.1:\(self.port)/pa/v3/operation" }

    var events: [Event] { self.journal.withLock { $0.events } }

    var requests: [ReceivedRequest] {
        self.events.compactMap { event in
            guard case .request(_, let request) = event else { return nil }
            return request
        }
    }

    var acceptedCount: Int {
        self.events.count { event in
            guard case .accepted = event else { return false }
            return true
        }
    }

    /// Returns once the journal holds `event`.
    func waitFor(_ event: Event) async { await self.wait { $0.contains(event) } }

    /// Returns once `condition` holds for the journal.
    func wait(until condition: @escaping @Sendable ([Event]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMet = self.journal.withLock { journal in
                if condition(journal.events) { return true }
                journal.waiters.append(Waiter(condition: condition, continuation: continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    fileprivate func record(_ event: Event) {
        let ready = self.journal.withLock { journal in
            journal.events.append(event)
            let ready = journal.waiters.filter { $0.condition(journal.events) }
            journal.waiters.removeAll { $0.condition(journal.events) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// A socket bound to a free port; without a backlog it does not listen, and connections to it are refused.
    static func listen(backlog: Int32?) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, address, length) == 0 else { return -1 }
                if let backlog, Glibc.listen(descriptor, backlog) != 0 { return -1 }
                return Int(getsockname(descriptor, address, &length))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

struct ReceivedRequest: Equatable, Sendable {
    var head: String
    var body: [UInt8]

    var requestLine: String { String(self.head.prefix { $0 != "\r\n" }) }

    func header(_ name: String) -> String? {
        for line in self.head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0].lowercased() == name.lowercased() else { continue }
            return parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        return nil
    }
}

/// One connection, in the hands of the script. Used by the script's thread alone.
final class ScriptedConnection {
    let index: Int
    private let descriptor: Int32
    private let server: ScriptedServer
    private var received: [UInt8] = []
    private var isOpen = true

    fileprivate init(descriptor: Int32, index: Int, server: ScriptedServer) {
        self.descriptor = descriptor
        self.index = index
        self.server = server
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Reads one whole request; `nil` when the client goes first.
    @discardableResult func readRequest() -> ReceivedRequest? {
        let separator = Array("\r\n\r\n".utf8)
        while true {
            if let end = self.received.firstRange(of: separator) {
                var request = ReceivedRequest(
                    head: String(decoding: self.received[..<end.lowerBound], as: UTF8.self),
                    body: []
                )
                let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
                if self.received.count >= end.upperBound + length {
                    request.body = Array(self.received[end.upperBound..<end.upperBound + length])
                    self.received.removeFirst(end.upperBound + length)
                    self.server.record(.request(connection: self.index, request))
                    return request
                }
            }
            guard self.readMore() else { return nil }
        }
    }

    /// Writes everything, or as much as the client takes before it goes.
    @discardableResult func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult func write(_ text: String) -> Bool { self.write(Array(text.utf8)) }

    /// Writes a whole answer that keeps the connection.
    func answer(_ body: String = "ok", status: String = "200 OK", headers: String = "") {
        self.write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
    }

    /// Answers request after request until the client goes.
    func answerAll(_ body: String = "ok") {
        while self.readRequest() != nil { self.answer(body) }
        self.server.record(.clientClosed(connection: self.index))
    }

    /// Names a point for the test to wait on.
    func reach(_ point: String) { self.server.record(.reached(connection: self.index, point)) }

    /// Returns once the client has closed or broken the connection.
    func waitForClose() {
        while self.readMore() {}
        self.server.record(.clientClosed(connection: self.index))
    }

    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        Glibc.close(self.descriptor)
        self.server.record(.closed(connection: self.index))
    }

    /// Breaks the connection (RST).
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        self.close()
    }

    private func readMore() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        self.received.append(contentsOf: buffer[..<count])
        return true
    }
}
