import Foundation
import Glibc

/// A TCP connection that sends exactly the bytes it is told to.
///
/// Waiting happens on threads of its own: a test that blocked the cooperative pool would keep the server from answering.
final class RawConnection: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// A response as it came: status, header fields with names in lower case, body.
    struct Response: Sendable {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]
        var text: String { String(decoding: self.body, as: UTF8.self) }
        /// The body as JSON: a dictionary, an array, a text, …
        func json<Value>(as type: Value.Type = Value.self) throws -> Value {
            guard let value = try JSONSerialization.jsonObject(with: Data(self.body)) as? Value else {
                throw Failure(description: "not \(type): \(self.text)")
            }
            return value
        }
    }

    enum End: Equatable {
        case closed, reset
    }

    private let descriptor: Int32
    private let unread: ReadBuffer
    /// The process that encrypts the bytes on their way, if they are encrypted.
    private let tunnel: Process?

    private final class ReadBuffer: @unchecked Sendable {
        // Used by one reader at a time: a connection is one test's, and its reads are awaited in turn.
        var bytes: [UInt8] = []
    }

    init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw Failure(description: "connect: \(reason)")
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        self.descriptor = descriptor
        self.unread = ReadBuffer()
        self.tunnel = nil
    }

    /// A connection through TLS, by way of `openssl s_client`.
    ///
    /// - Parameter file: A PEM file of the certificate that the server must show.
    init(securePort port: UInt16, trusting file: String) throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw Failure(description: "socketpair: \(String(cString: strerror(errno)))")
        }
        let theirs = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let tunnel = Process()
        tunnel.executableURL = URL(filePath: "/usr/bin/env")
        tunnel.arguments = [
            "openssl", "s_client", "-quiet", "-nocommands", "-no_ign_eof", "-verify_return_error", "-CAfile", file,
            "-connect", "127.0.0.1:\(port)",
        ]
        tunnel.standardInput = theirs
        tunnel.standardOutput = theirs
        tunnel.standardError = FileHandle.nullDevice
        do {
            try tunnel.run()
            try theirs.close()  // or the end of the program would not be the end of what is read
        } catch {
            close(ends[0])
            throw error
        }
        self.descriptor = ends[0]
        self.unread = ReadBuffer()
        self.tunnel = tunnel
    }

    deinit {
        close(self.descriptor)
        self.tunnel?.terminate()
    }

    func send(_ text: String) async throws { try await self.send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await self.onThread {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Says that nothing more will be sent.
    func finishSending() { shutdown(self.descriptor, Int32(SHUT_WR)) }

    /// Ends the connection without a word, as when a machine is lost.
    func reset() {
        var nothing = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &nothing, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends `byte` again and again, a few milliseconds apart, until the server ends the connection.
    func trickleUntilEnd(_ byte: UInt8 = UInt8(ascii: "a")) async -> End {
        await self.onThread {
            while true {
                var one = byte
                guard Glibc.send(self.descriptor, &one, 1, Int32(MSG_NOSIGNAL)) == 1 else { return .reset }
                var poll = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
                if Glibc.poll(&poll, 1, 10) == 1 { return self.readToEnd().end }
            }
        }
    }

    /// Reads one response; the body is read by its length or its chunks.
    func response(toHead: Bool = false) async throws -> Response {
        try await self.onThread {
            let end = try self.fill { $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }
            var lines = String(decoding: self.unread.bytes[..<(end - 4)], as: UTF8.self).components(separatedBy: "\r\n")
            self.unread.bytes.removeFirst(end)
            guard let status = lines.removeFirst().split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                throw Failure(description: "no status line")
            }
            var headers: [String: String] = [:]
            for line in lines {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            }
            var response = Response(status: status, headers: headers, body: [])
            if status == 100 { return response }
            if headers["transfer-encoding"]?.lowercased() == "chunked" {
                while let chunk = try self.chunk() { response.body += chunk }
            } else if !toHead, let length = headers["content-length"].flatMap({ Int($0) }) {
                response.body = try self.take(length)
            }
            return response
        }
    }

    func responseHeadAndChunk() async throws -> String {
        try await self.onThread {
            let end = try self.fill { $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }
            let head = String(decoding: try self.take(end), as: UTF8.self)
            return head + String(decoding: try self.chunk() ?? [], as: UTF8.self)
        }
    }

    /// The next chunk of a chunked body, or `nil` at its end.
    func nextChunk() async throws -> String? {
        try await self.onThread { try self.chunk().map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Everything that comes until the connection ends, and how it ends.
    func readUntilEnd() async -> (bytes: [UInt8], end: End) { await self.onThread { self.readToEnd() } }

    private func chunk() throws -> [UInt8]? {
        let end = try self.fill { $0.firstRange(of: Array("\r\n".utf8))?.upperBound }
        let line = String(decoding: try self.take(end).dropLast(2), as: UTF8.self)
        guard let size = Int(line, radix: 16) else { throw Failure(description: "no chunk size: \(line)") }
        let chunk = try self.take(size)
        _ = try self.take(2)
        return size == 0 ? nil : chunk
    }

    private func take(_ count: Int) throws -> [UInt8] {
        _ = try self.fill { $0.count >= count ? count : nil }
        defer { self.unread.bytes.removeFirst(count) }
        return Array(self.unread.bytes.prefix(count))
    }

    private func fill<Result>(until found: ([UInt8]) -> Result?) throws -> Result {
        while true {
            if let result = found(self.unread.bytes) { return result }
            guard self.readOnce() == nil else {
                throw Failure(description: "ended after: \(String(decoding: self.unread.bytes, as: UTF8.self))")
            }
        }
    }

    private func readToEnd() -> (bytes: [UInt8], end: End) {
        while true {
            if let end = self.readOnce() { return (self.unread.bytes, end) }
        }
    }

    private func readOnce() -> End? {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return count == 0 ? .closed : .reset }
        self.unread.bytes += buffer.prefix(count)
        return nil
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { done in
            Thread.detachNewThread { done.resume(with: Swift.Result { try body() }) }
        }
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { done in
            Thread.detachNewThread { done.resume(returning: body()) }
        }
    }
}

extension Array<UInt8> {
    fileprivate func firstRange(of pattern: [UInt8]) -> Range<Int>? {
        guard self.count >= pattern.count else { return nil }
        for start in 0...(self.count - pattern.count) where self[start..<(start + pattern.count)].elementsEqual(pattern)
        {
            return start..<(start + pattern.count)
        }
        return nil
    }
}
