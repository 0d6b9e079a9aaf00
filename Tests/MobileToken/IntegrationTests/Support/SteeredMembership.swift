import MobileToken
import Synchronization
import TestSupport

final class SteeredMembership: FleetMembership {
    private struct State {
        var assign: (@Sendable (OperationsFleet.Assignment) async -> Void)?
        var held: Set<Int> = []
    }

    let bucketCount = 2
    private let state = Mutex(State())

    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        self.state.withLock { $0.assign = assign }
        await waitForCancellation()
    }

    func holds(_ bucket: Int) -> Bool { self.state.withLock { $0.held.contains(bucket) } }

    func waitForStart() async { await until { self.state.withLock { $0.assign != nil } } }

    func assign(_ buckets: Set<Int>, processCount: Int = 1) async {
        let assign = self.state.withLock { state in
            state.held = buckets
            return state.assign
        }
        await assign?(OperationsFleet.Assignment(buckets: buckets, processCount: processCount))
    }

    func lose(_ buckets: Set<Int>) { self.state.withLock { $0.held.subtract(buckets) } }
}
