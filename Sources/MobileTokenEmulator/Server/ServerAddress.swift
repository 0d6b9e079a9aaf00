/// Where a server is found.
struct ServerAddress: Sendable {
    var port: UInt16
    /// Whether only this machine can reach it.
    var isLoopback: Bool
    /// `http://127.0.0.1:49152`, or `https://…`; for a server that is bound to all addresses, the loopback one.
    var origin: String
}

extension ServerAddress {
    init(_ server: HTTPServer) {
        self.port = server.port
        self.isLoopback = server.isLoopback
        let host =
            switch server.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case let host where host.contains(":"): "[\(host)]"
            case let host: host
            }
        self.origin = "\(server.isSecure ? "https" : "http")://\(host):\(server.port)"
    }
}
