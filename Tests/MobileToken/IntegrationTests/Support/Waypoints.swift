import Synchronization

/// Numbers the moments before and after every request, and does something at one of them.
final class Waypoints: Sendable {
    private struct State {
        var count = 0
        var number: Int?
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// The number of places passed since they were armed.
    var count: Int { self.state.withLock { $0.count } }

    /// Counts anew; `action` is done at the moment of this number, from 1.
    func arm(_ number: Int?, action: @escaping @Sendable () -> Void = {}) {
        self.state.withLock { $0 = State(number: number, action: action) }
    }

    private func pass() {
        let action = self.state.withLock { state in
            state.count += 1
            return state.count == state.number ? state.action.take() : nil
        }
        action?()
    }

    func transport() throws -> InterceptingTransport {
        try InterceptingTransport { request, deliver in
            self.pass()
            let response = try await deliver(request)
            self.pass()
            return response
        }
    }
}
