import Foundation
import MobileTokenEmulator

extension Emulator {
    /// A connection as the server speaks, with TLS or without.
    func connect() throws -> RawConnection {
        guard let certificate = self.certificate else { return try RawConnection(port: self.port) }
        return try RawConnection(securePort: self.port, trusting: certificate.file)
    }

    /// Sends a request on a connection of its own.
    @discardableResult
    func send(
        _ method: String,
        _ path: String,
        headers: [String] = [],
        type: String = "application/json",
        body: String? = nil
    ) async throws -> RawConnection.Response {
        let client = try self.connect()
        var lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(self.port)"] + headers
        if let body { lines += ["Content-Type: \(type)", "Content-Length: \(body.utf8.count)"] }
        try await client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return try await client.response(toHead: method == "HEAD")
    }
}
