import HTTPClientTransport
import TestSupport

/// A real transport with somebody in the way, who may look, change, wait or lose.
struct InterceptingTransport: HTTPTransport {
    typealias Delivery = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private let base: any HTTPTransport
    private let intercept: @Sendable (HTTPRequest, Delivery) async throws -> HTTPResponse

    init(
        base: (any HTTPTransport)? = nil,
        _ intercept: @escaping @Sendable (HTTPRequest, Delivery) async throws -> HTTPResponse
    ) throws {
        self.base = try base ?? CurlTransport()
        self.intercept = intercept
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self.intercept(request) { try await self.base.send($0) }
    }
}

/// Keeps what was sent, for the test to send it again.
final class Recorder: Sendable {
    private let recorded = Shared<[HTTPRequest]>([])

    /// A transport that keeps every request, and delivers it unless `isHeldBack` says otherwise.
    func transport(isHeldBack: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false }) throws
        -> InterceptingTransport
    {
        try InterceptingTransport { request, deliver in
            self.recorded.update { $0.append(request) }
            guard !isHeldBack(request) else { throw HTTPTransportError(.connectionLost) }
            return try await deliver(request)
        }
    }

    func last(to path: String) -> HTTPRequest? { self.recorded.value.last { $0.url.hasSuffix(path) } }
}

extension HTTPRequest {
    var isSigned: Bool { self.headers["X-PowerAuth-Authorization"] != nil }
}
