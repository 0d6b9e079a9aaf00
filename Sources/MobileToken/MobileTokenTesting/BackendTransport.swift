package import EmulatorBackend
import EmulatorMessages
package import ExactJSON
package import Foundation
package import HTTPClientTransport
import Synchronization

/// A transport that calls a development server's backend directly.
///
/// Without a socket, a request is answered within its call: thousands take seconds.
package final class BackendTransport: HTTPTransport {
    private let backend: Mutex<Backend>
    private let credentials: BasicCredentials
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - now: Returns the server's time.
    ///   - configure: Changes the backend's configuration before it is created.
    package init(
        now: @escaping @Sendable () -> Date = { Date() },
        _ configure: (inout BackendConfiguration) -> Void = { _ in }
    ) throws {
        let credentials = BasicCredentials(user: "bank", password: "bank")
        var configuration = BackendConfiguration(
            applicationID: "mobile-token",
            applicationName: "Backend",
            cloudCredentials: credentials
        )
        configure(&configuration)
        self.backend = Mutex(try Backend(configuration: configuration, randomness: SeededRandomness()))
        self.credentials = credentials
        self.now = now
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse { self.response(to: request) }

    /// Returns the backend's response to a request.
    package func response(to request: HTTPRequest) -> HTTPResponse {
        var received = ReceivedRequest(method: request.method.rawValue, target: request.url)
        received.headers = request.headers.fields.map { ($0.name, $0.value) }
        received.body = request.body ?? []
        let reply = self.backend.withLock { $0.reply(to: received, at: self.now()) }
        let headers = reply.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }
        return HTTPResponse(status: reply.status, headers: HTTPHeaders(headers), body: reply.body)
    }

    /// Returns the backend's response to a request of the bank, to which it adds the credentials.
    package func response(toBank request: HTTPRequest) -> HTTPResponse {
        var request = request
        request.headers.add(name: "Authorization", value: self.credentials.authorization)
        return self.response(to: request)
    }

    /// Makes a cloud API request with its credentials, and returns the response's body.
    @discardableResult
    package func cloud(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) throws -> JSONValue {
        let request = HTTPRequest(
            method,
            url: path,
            headers: ["Content-Type": "application/json"],
            body: body?.serialized()
        )
        return try JSONValue(parsing: self.response(toBank: request).body)
    }

    /// Reads or changes the backend between requests.
    package func withBackend<Result: Sendable>(
        _ body: @Sendable (inout Backend) throws -> Result
    ) rethrows -> Result {
        try self.backend.withLock { try body(&$0) }
    }
}
