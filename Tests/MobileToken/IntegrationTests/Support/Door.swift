import Synchronization

/// Holds tasks until a test opens it, and a test until somebody has come.
final class Door: Sendable {
    private struct State {
        var isOpen = false
        var visitors: [CheckedContinuation<Void, Never>] = []
        var visitorCount = 0
        var hosts: [(count: Int, wake: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until the door is open. Does not heed cancellation.
    func pass() async {
        await withCheckedContinuation { visitor in
            let (goesOn, hosts) = self.state.withLock { state in
                state.visitorCount += 1
                let count = state.visitorCount
                let satisfied = state.hosts.filter { $0.count <= count }.map(\.wake)
                state.hosts.removeAll { $0.count <= count }
                if !state.isOpen { state.visitors.append(visitor) }
                return (state.isOpen, satisfied)
            }
            if goesOn { visitor.resume() }
            for host in hosts { host.resume() }
        }
    }

    /// Waits until so many have come in all.
    func waitForVisitors(_ count: Int = 1) async {
        await withCheckedContinuation { host in
            let isThere = self.state.withLock { state in
                if state.visitorCount < count { state.hosts.append((count, host)) }
                return state.visitorCount >= count
            }
            if isThere { host.resume() }
        }
    }

    func open() {
        let visitors = self.state.withLock { state in
            state.isOpen = true
            defer { state.visitors = [] }
            return state.visitors
        }
        for visitor in visitors { visitor.resume() }
    }
}
