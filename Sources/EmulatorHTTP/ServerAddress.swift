/// The address of a server.
package struct ServerAddress: Sendable {
    package var port: UInt16
    /// Indicates whether only this machine can reach it.
    package var isLoopback: Bool
    /// `http://127.0.0.1:49152`, or `https://…`; for a server that is bound to all addresses, the loopback one.
    ///
    /// For a part of the server, with the path below which that is found.
    package var origin: String

    package init(port: UInt16, isLoopback: Bool, origin: String) {
        self.port = port
        self.isLoopback = isLoopback
        self.origin = origin
    }
}

extension ServerAddress {
    /// The address of what is found below a path of this one.
    package func below(_ path: String) -> Self {
        Self(port: self.port, isLoopback: self.isLoopback, origin: self.origin + path)
    }

    package init(_ server: HTTPServer) {
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
