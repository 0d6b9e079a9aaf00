// An agent as a service of swift-service-lifecycle, of which this package knows only the shape.
import MobileToken

// snippet.hide
protocol Service: Sendable {
    func run() async throws
}

/// Stands in for the library's.
func cancelWhenGracefulShutdown<Result: Sendable>(
    _ operation: @Sendable @escaping () async throws -> Result
) async rethrows -> Result { try await operation() }
// snippet.show
struct AgentService: Service {
    let agent: ApprovalAgent

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await agent.run() }
    }
}
