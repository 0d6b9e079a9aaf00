import ExactJSON
import Foundation
import MobileTokenEmulator

extension Emulator {
    /// A connection as the server speaks, with TLS or without.
    func connect() throws -> RawConnection {
        guard let certificate = self.certificate else { return try RawConnection(port: self.port) }
        return try RawConnection(securePort: self.port, trusting: certificate.file)
    }

    /// Sends a request on a connection of its own, and does not wait for the response.
    func begin(
        _ method: String,
        _ path: String,
        headers: [String] = [],
        type: String = "application/json",
        body: String? = nil
    ) async throws -> RawConnection {
        let client = try self.connect()
        var lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1:\(self.port)"] + headers
        if let body { lines += ["Content-Type: \(type)", "Content-Length: \(body.utf8.count)"] }
        try await client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return client
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
        try await self.begin(method, path, headers: headers, type: type, body: body)
            .response(toHead: method == "HEAD")
    }

    /// The header field with the credentials of the cloud API.
    var authorization: String {
        "Authorization: Basic " + Data("\(self.cloudUser):\(self.cloudPassword)".utf8).base64EncodedString()
    }

    /// Sends a request with the credentials of the cloud API.
    @discardableResult
    func bank(_ method: String, _ path: String, _ body: String? = nil) async throws -> RawConnection.Response {
        try await self.send(method, path, headers: [self.authorization], body: body)
    }

    @discardableResult
    func bank(_ method: String, _ path: String, json: JSONValue) async throws -> RawConnection.Response {
        try await self.bank(method, path, String(decoding: json.serialized(), as: UTF8.self))
    }

    /// Asks the control API, and returns its response as JSON.
    func ask(
        _ path: String,
        method: String = "GET",
        body: String? = nil
    ) async throws -> (status: Int, body: JSONValue) {
        let response = try await self.send(method, "/_emulator" + path, body: body)
        return (response.status, try JSONValue(parsing: response.body))
    }
}
