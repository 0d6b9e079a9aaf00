import CCurl
import Foundation

/// A server that gives every request the same answer, or some by turns, as fast as one thread can: the baseline of all clients.
/// Only questions for a status have an answer of their own, ``StatusAnswer``.
///
/// It runs in a process of its own, so that its time is not taken for the client's; see ``StaticServerProcess``.
final class StaticServer {
    /// The hidden subcommand that turns this program into the server.
    static let subcommand = "static-server"

    private let answers: [[UInt8]]
    private let status: StatusAnswer
    private var next = 0
    private let listener: Int32
    private let epoll: Int32
    private var received: [Int32: [UInt8]] = [:]

    /// - Parameter answers: Files with the bodies of answers; without any, a short JSON object.
    init(answers files: [String]) throws {
        let bodies = try files.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
        self.answers = (bodies.isEmpty ? [Array(Self.shortBody.utf8)] : bodies).map { Self.answer($0) }
        self.status = try StatusAnswer()
        self.listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        self.epoll = epoll_create1(0)
    }

    static let shortBody = #"{"status":"OK","responseObject":[],"currentTimestamp":"2026-01-01T00:00:00.000+00:00"}"#

    /// An answer with this body.
    static func answer(_ body: some Collection<UInt8>) -> [UInt8] {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }

    /// Serves until the parent closes our standard input; writes the port to standard output first.
    func run() throws -> Never {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(self.listener, address, length) == 0 && listen(self.listener, 1024) == 0
                    && getsockname(self.listener, address, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        print(UInt16(bigEndian: address.sin_port))
        fflush(nil)
        self.watch(self.listener)
        self.watch(0)

        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            let count = epoll_wait(self.epoll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.fd {
                case 0: exit(0)
                case self.listener: self.acceptAll()
                case let connection: self.serve(connection)
                }
            }
        }
    }

    private func watch(_ descriptor: Int32) {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: descriptor))
        epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    private func acceptAll() {
        while true {
            let connection = accept(self.listener, nil, nil)
            guard connection >= 0 else { return }
            var one: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            self.received[connection] = []
            self.watch(connection)
        }
    }

    private func serve(_ connection: Int32) {
        var bytes = self.received[connection] ?? []
        self.received[connection] = nil  // so that appending does not copy
        let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            let count = recv(connection, buffer.baseAddress, buffer.count, 0)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        guard count > 0 else {
            close(connection)
            return
        }
        while let length = Self.lengthOfMessage(in: bytes) {
            let status = try? self.status.answer(to: bytes.prefix(length))
            bytes.removeFirst(length)
            guard self.write(status ?? self.nextAnswer(), to: connection) else {
                close(connection)
                return
            }
        }
        self.received[connection] = bytes
    }

    /// The number of bytes of the first request or response, once it is whole.
    static func lengthOfMessage(in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let end = Self.end(of: "\r\n\r\n", in: bytes) else { return nil }
            var length = 0
            if let start = Self.end(of: "Content-Length: ", in: UnsafeRawBufferPointer(rebasing: bytes[..<end])) {
                for byte in bytes[start...] {
                    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
                    length = length * 10 + Int(byte - UInt8(ascii: "0"))
                }
            }
            return bytes.count >= end + length ? end + length : nil
        }
    }

    private static func end(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes.count >= text.count else { return nil }
        for start in 0...(bytes.count - text.count) where bytes[start] == text[0] {
            if bytes[start..<start + text.count].elementsEqual(text) { return start + text.count }
        }
        return nil
    }

    private func nextAnswer() -> [UInt8] {
        self.next = (self.next + 1) % self.answers.count
        return self.answers[self.next]
    }

    private func write(_ answer: [UInt8], to connection: Int32) -> Bool {
        answer.withUnsafeBytes { answer in
            var sent = 0
            while sent < answer.count {
                let count = send(
                    connection,
                    answer.baseAddress?.advanced(by: sent),
                    answer.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }
}
