package import EmulatorBackend
import EmulatorMessages
package import ExactJSON
package import Foundation
package import HTTPClientTransport
import Synchronization

/// A transport that leads straight into the backend of a development server.
///
/// There is no socket, and a request is answered within its call: thousands of them take seconds.
package final class BackendTransport: HTTPTransport {
    private let backend: Mutex<Backend>
    private let credentials: BasicCredentials
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - now: The server's time.
    ///   - configure: Changes the backend's configuration before it is made.
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
        self.backend = Mutex(try Backend(configuration: configuration, randomness: Randomness()))
        self.credentials = credentials
        self.now = now
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse { self.response(to: request) }

    /// Returns what the backend responds to a request.
    package func response(to request: HTTPRequest) -> HTTPResponse {
        var received = ReceivedRequest(method: request.method.rawValue, target: request.url)
        received.headers = request.headers.fields.map { ($0.name, $0.value) }
        received.body = request.body ?? []
        let reply = self.backend.withLock { $0.reply(to: received, at: self.now()) }
        let headers = reply.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }
        return HTTPResponse(status: reply.status, headers: HTTPHeaders(headers), body: reply.body)
    }

    /// Makes a request of the cloud API, with its credentials, and returns the body of the response.
    @discardableResult
    package func cloud(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) throws -> JSONValue {
        let request = HTTPRequest(
            method,
            url: path,
            headers: ["Authorization": self.credentials.authorization, "Content-Type": "application/json"],
            body: body?.serialized()
        )
        return try JSONValue(parsing: self.response(to: request).body)
    }

    /// Reads or changes the backend between requests.
    package func withBackend<Result: Sendable>(
        _ body: @Sendable (inout Backend) throws -> Result
    ) rethrows -> Result {
        try self.backend.withLock { try body(&$0) }
    }
}
