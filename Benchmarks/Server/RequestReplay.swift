import Glibc
import HTTPClientTransport

/// A client that costs next to nothing: requests that were made before, over connections that stay, from one thread.
///
/// What is measured with it is the server.
final class RequestReplay {
    private struct Lane {
        let descriptor: Int32
        var requests: ArraySlice<[UInt8]>
        var received: [UInt8] = []
    }

    private var lanes: [Lane] = []
    private static let success = Array("HTTP/1.1 200 ".utf8)

    /// Connects, once for each list.
    ///
    /// - Parameters:
    ///   - lists: Requests to this machine. Those of one list follow each other; the lists are sent side by side.
    ///   - port: The port to connect to, whatever the requests say.
    init(_ lists: [[HTTPRequest]], port: UInt16) throws {
        for list in lists {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.lanes.append(Lane(descriptor: descriptor, requests: try list.map(Self.bytes)[...]))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) == 0 }
            }
            try check(isConnected)
            var one: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    deinit { for lane in self.lanes { close(lane.descriptor) } }

    /// As it is on the wire.
    private static func bytes(of request: HTTPRequest) throws -> [UInt8] {
        let slash = try unwrap(request.url.utf8.dropFirst("http://".utf8.count).firstIndex(of: UInt8(ascii: "/")))
        let body = request.body ?? []
        var head = "\(request.method.rawValue) \(request.url[slash...]) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for field in request.headers.fields { head += "\(field.name): \(field.value)\r\n" }
        return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    /// Sends all, and returns when the last response has come.
    ///
    /// - Throws: An error when a response is no success.
    func run() throws {
        for index in self.lanes.indices { try self.sendNext(on: index) }
        var polled = self.lanes.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        var open = self.lanes.count
        while open > 0 {
            try check(poll(&polled, nfds_t(polled.count), 60_000) > 0)
            for index in polled.indices where polled[index].revents != 0 {
                guard try self.receive(on: index) else { continue }
                guard try !self.sendNext(on: index) else { continue }
                polled[index].fd = -1  // is passed over
                open -= 1
            }
        }
    }

    /// - Returns: `true` if there was one more.
    @discardableResult
    private func sendNext(on index: Int) throws -> Bool {
        guard let request = self.lanes[index].requests.popFirst() else { return false }
        // A request is smaller than the socket's buffer, which is empty.
        try check(send(self.lanes[index].descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        return true
    }

    /// - Returns: `true` if the response is whole.
    private func receive(on index: Int) throws -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            let count = recv(self.lanes[index].descriptor, buffer.baseAddress, buffer.count, 0)
            try check(count > 0)
            self.lanes[index].received.append(contentsOf: buffer[..<count])
        }
        let received = self.lanes[index].received
        guard let length = StaticServer.lengthOfMessage(in: received) else { return false }
        try check(length == received.count && received.starts(with: Self.success))
        self.lanes[index].received.removeAll(keepingCapacity: true)
        return true
    }
}
