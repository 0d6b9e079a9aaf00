import Basics
import Coordination
import EmulatorMessages
import HTTPClientTransport
import Synchronization

/// The transport of a virtual device's requests: the same path as other clients', without a socket.
struct DeviceTransport: HTTPTransport {
    /// The address that the SDK requires, which is never contacted.
    static let baseURL = "http://localhost"

    /// The clock of the request timeout, so that an hour's delay does not block a device for an hour. `nil` for callers that wait
    /// without limit.
    let clock: (any Clock<Duration>)?
    /// Responds to a request; `nil` if the server is gone.
    let respond: @Sendable (ReceivedRequest) async -> ServerResponse?

    init(clock: (any Clock<Duration>)? = nil, respond: @escaping @Sendable (ReceivedRequest) async -> ServerResponse?) {
        (self.clock, self.respond) = (clock, respond)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var received = ReceivedRequest(method: request.method.rawValue, target: request.url)
        received.headers = request.headers.fields.map { ($0.name, $0.value) }
        received.body = request.body ?? []
        received.origin = Self.baseURL
        guard let base = self.clock else { return try await self.response(to: received) }
        let clock = ServiceClock(base)
        let response = try await withDeadline(clock.now + (request.timeout ?? self.timeout).bounded, on: clock) {
            [self, received] in try await self.response(to: received)
        }
        guard let response else { throw HTTPTransportError(.timeout, detail: "the response took too long") }
        return response
    }

    private func response(to request: ReceivedRequest) async throws -> HTTPResponse {
        guard let response = await self.respond(request), let body = await response.received() else {
            throw HTTPTransportError(.connectionLost, detail: "the connection broke")
        }
        let headers = response.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }
        return HTTPResponse(status: response.status, headers: HTTPHeaders(headers), body: body)
    }
}

/// A virtual device as the sender of a request.
struct DeviceCaller: Sendable {
    /// The device's name, for the journal.
    let name: String
    /// The epoch of the device store.
    let epoch: Int
}

extension ServerResponse {
    /// Returns the body that the client receives; `nil` if the connection ends before it is complete.
    fileprivate func received() async -> [UInt8]? {
        switch self.body {
        case .bytes(let bytes): return bytes
        case .reset: return nil
        case .produced(_, let produce):
            let receiver = Receiver()
            await produce(receiver)
            return receiver.content
        }
    }

    private final class Receiver: BodyWriter {
        private let state = Mutex((bytes: [UInt8](), isAborted: false))

        var isClosed: Bool { self.state.withLock { $0.isAborted } }
        /// The received bytes; `nil` if the body was aborted.
        var content: [UInt8]? { self.state.withLock { $0.isAborted ? nil : $0.bytes } }

        func write(_ bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            self.state.withLock { $0.bytes += bytes }
        }

        func abort() { self.state.withLock { $0.isAborted = true } }
    }
}
