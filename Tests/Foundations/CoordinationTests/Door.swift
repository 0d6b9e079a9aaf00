import TestSupport

/// Lets a test decide when work goes on. A cancelled waiter leaves at once.
final class Door: Sendable {
    private let stream: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation
    let visitors = Shared(0)

    init() { (self.stream, self.opener) = AsyncStream.makeStream() }

    func open() { self.opener.yield() }

    func pass() async throws {
        self.visitors.update { $0 += 1 }
        for await _ in self.stream { return }
        throw CancellationError()
    }
}
