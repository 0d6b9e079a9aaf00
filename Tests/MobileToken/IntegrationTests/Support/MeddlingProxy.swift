import HTTPClientTransport
import MobileTokenTesting
import TestSupport

/// A proxy between the agent and the bank that answers for the bank, before or after it did its work, and sends requests twice.
final class MeddlingProxy: Sendable {
    enum Strike: Hashable {
        /// A page instead of the bank's answer.
        case page(status: Int, isDelivered: Bool)
        /// Sent twice; the second answer is handed on.
        case twice
    }

    static let statuses = [401, 403, 404, 413, 429, 499]

    private struct State {
        var generator: SeededGenerator
        var probability = 0.0
        var strikes: [Strike: Int] = [:]
    }

    private let state: Shared<State>

    init(_ generator: SeededGenerator) { self.state = Shared(State(generator: generator)) }

    func set(probability: Double) { self.state.update { $0.probability = probability } }

    var strikes: [Strike: Int] { self.state.value.strikes }

    func pass(_ request: HTTPRequest, _ deliver: InterceptingTransport.Delivery) async throws -> HTTPResponse {
        guard let strike = self.strike(request) else { return try await deliver(request) }
        return try await strike.answer(to: request, deliver)
    }

    private func strike(_ request: HTTPRequest) -> Strike? {
        let isDecision = request.url.hasSuffix("/authorize") || request.url.hasSuffix("/cancel")
        return self.state.update { state in
            guard Double.random(in: 0..<1, using: &state.generator) < state.probability else { return nil }
            var strike = Strike.twice
            if Int.random(in: 0..<4, using: &state.generator) > 0 {
                let status = Self.statuses.randomElement(using: &state.generator) ?? 403
                strike = .page(status: status, isDelivered: Bool.random(using: &state.generator))
            }
            if isDecision { state.strikes[strike, default: 0] += 1 }
            return strike
        }
    }
}

extension MeddlingProxy.Strike {
    func answer(to request: HTTPRequest, _ deliver: InterceptingTransport.Delivery) async throws -> HTTPResponse {
        switch self {
        case .twice:
            _ = try await deliver(request)
            return try await deliver(request)
        case .page(let status, let isDelivered):
            if isDelivered { _ = try await deliver(request) }
            return HTTPResponse(
                status: status,
                headers: ["Content-Type": "text/html"],
                body: Array("<html><h1>\(status)</h1></html>".utf8)
            )
        }
    }
}
