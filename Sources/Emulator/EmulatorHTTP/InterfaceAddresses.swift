import Glibc

/// The addresses of this machine.
package enum InterfaceAddresses {
    /// IPv4 and IPv6 addresses as strings, without link-local ones.
    package static var all: [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        return sequence(first: first) { $0?.pointee.ifa_next }.compactMap { interface in
            guard let address = interface?.pointee.ifa_addr else { return nil }
            switch Int32(address.pointee.sa_family) {
            case AF_INET: return Self.string(of: address, length: MemoryLayout<sockaddr_in>.size)
            case AF_INET6: return Self.string(of: address, length: MemoryLayout<sockaddr_in6>.size)
            default: return nil
            }
        }
    }

    private static func string(of address: UnsafePointer<sockaddr>, length: Int) -> String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = getnameinfo(
            address,
            socklen_t(length),
            &host,
            socklen_t(host.count),
            nil,
            0,
            NI_NUMERICHOST
        )
        guard status == 0 else { return nil }
        let name = String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name.contains("%") ? nil : name  // a link-local address, which names its link
    }
}
