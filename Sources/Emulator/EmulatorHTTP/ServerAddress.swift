package struct ServerAddress: Sendable {
    package var port: UInt16
    /// Indicates whether only this machine can reach it.
    package var isLoopback: Bool
    /// `http://127.0.0.1:49152`, or `https://…`; loopback for a server bound to all addresses.
    ///
    /// For a part of the server, with its path prefix.
    package var origin: String
}

extension ServerAddress {
    /// Returns the address of a path below this one.
    package func below(_ path: String) -> Self {
        Self(port: self.port, isLoopback: self.isLoopback, origin: self.origin + path)
    }

    /// Returns whether a `Host` header has the server's own name and port. It never has if the server uses TLS.
    package func isNamed(by host: String) -> Bool {
        self.origin.utf8.dropFirst("http://".utf8.count).elementsEqual(host.utf8)
    }

    /// Returns the server's address with the host name that a client used.
    package func reached(as host: String) -> Self {
        let scheme = self.origin.utf8.starts(with: "https:".utf8) ? "https" : "http"
        return Self(port: self.port, isLoopback: self.isLoopback, origin: "\(scheme)://\(host)")
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
