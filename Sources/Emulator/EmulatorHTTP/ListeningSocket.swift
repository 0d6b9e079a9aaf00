import Glibc

/// A listening TCP socket, with its address.
struct ListeningSocket {
    let descriptor: Int32
    /// The host as given.
    let host: String
    /// The requested port, or the free one that was found.
    let port: UInt16
    /// Indicates whether only this machine can reach it.
    let isLoopback: Bool

    /// - Parameters:
    ///   - host: A numeric IPv4 or IPv6 address, or `localhost`.
    ///   - port: 0 for a free one.
    init(host: String, port: UInt16) throws(ListeningError) {
        let address = try SocketAddress(host: host, port: port)
        let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.error(errno, host: host, port: port) }
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // A restarted server must not wait for its predecessor's connections.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        guard
            address.withPointer({ Glibc.bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, SOMAXCONN) == 0,
            fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
            let bound = SocketAddress(of: descriptor, getsockname)
        else {
            let code = errno
            close(descriptor)
            throw Self.error(code, host: host, port: port)
        }
        self.descriptor = descriptor
        self.host = host
        self.port = bound.port
        self.isLoopback = bound.isLoopback
    }

    private static func error(_ code: Int32, host: String, port: UInt16) -> ListeningError {
        switch code {
        case EADDRINUSE: ListeningError(.addressInUse, "Another process listens on \(host), port \(port)")
        case EACCES: ListeningError(.cannotListen, "Port \(port) needs privileges")
        case EADDRNOTAVAIL: ListeningError(.cannotListen, "\(host) is no address of this machine")
        default:
            ListeningError(.cannotListen, "Cannot listen on \(host), port \(port): \(String(cString: strerror(code)))")
        }
    }
}

/// An IPv4 or IPv6 address with a port.
package struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    var family: Int32 { Int32(self.storage.ss_family) }

    package init(host: String, port: UInt16) throws(ListeningError) {
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        let address = host == "localhost" ? "127.0.0.1" : host
        if inet_pton(AF_INET, address, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            self.length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &self.storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
        } else if inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            self.length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &self.storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
        } else {
            throw ListeningError(.cannotListen, "\(host) is no IP address")
        }
    }

    /// - Parameter look: `getsockname` for the address of a bound socket, `getpeername` for that of a connection's peer.
    init?(
        of descriptor: Int32,
        _ look: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
        self.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &self.storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { look(descriptor, $0, &self.length) }
        }
        guard result == 0 else { return nil }
    }

    /// The numeric address, without the port.
    var numericHost: String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = self.withPointer { pointer, length in
            getnameinfo(pointer, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        }
        guard result == 0 else { return nil }
        return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var port: UInt16 {
        withUnsafeBytes(of: self.storage) { bytes in
            self.family == AF_INET
                ? UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
                : UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
        }
    }

    package var isLoopback: Bool {
        withUnsafeBytes(of: self.storage) { bytes in
            if self.family == AF_INET {
                return UInt32(bigEndian: bytes.load(as: sockaddr_in.self).sin_addr.s_addr) >> 24 == 127
            }
            let address = bytes.load(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: address) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: self.storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, self.length) }
        }
    }
}

/// The reason a server cannot listen.
package struct ListeningError: Error {
    package enum Code: Sendable { case addressInUse, cannotListen }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
