internal import PowerAuth
internal import Synchronization

// What happens at the same time.
extension ActivationStoreConformance {
    func checkConcurrentChanges(through handles: [any ActivationStore]) async throws {
        try await handles.first?.insert(Self.sparseRecord("a"))
        let moves = try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for task in 0..<20 {
                let store = handles[task % handles.count]
                group.addTask {
                    var moves: [UInt64] = []
                    for _ in 0..<10 { moves.append(try await store.update("a") { $0.takeMove() }) }
                    return moves
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        try self.require(Set(moves).count == moves.count, "a counter value was taken twice")
        try self.require(moves.sorted() == Array(0..<200), "a counter value was skipped")
        let history = try await handles.first?.record(of: "a")?.history
        try self.require(history?.moves == 200, "the stored count is not that of the changes")
    }

    func checkExclusion(through handles: [any ActivationStore]) async throws {
        try await handles.first?.insert(Self.record("a"))
        let holders = HolderCount()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<20 {
                let store = handles[task % handles.count]
                group.addTask {
                    let lease = try await store.acquireSigningLease(of: "a")
                    let isAlone = holders.change(by: 1) == 1
                    for _ in 0..<20 { await Task.yield() }
                    try await store.update("a") { $0.takeMove() }
                    holders.change(by: -1)
                    await lease.release()
                    return isAlone
                }
            }
            for try await isAlone in group { try self.require(isAlone, "two had the lease at once") }
        }
    }

    func checkStarvation(in store: any ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        let served = HolderCount()
        let waiting = Task {
            let lease = try await store.acquireSigningLease(of: "a")
            served.change(by: 1)
            await lease.release()
        }
        var rounds = 0
        while served.change(by: 0) == 0, rounds < 100_000 {
            let lease = try await store.acquireSigningLease(of: "a")
            await Task.yield()
            await lease.release()
            rounds += 1
        }
        waiting.cancel()  // only matters when it was not served
        _ = await waiting.result
        try self.require(served.change(by: 0) == 1, "one who waits is passed over for ever")
    }

    func checkCancellation(of store: any ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        let lease = try await store.acquireSigningLease(of: "a")
        let waiters = (0..<10).map { _ in Task { try await store.acquireSigningLease(of: "a") } }
        for waiter in waiters { waiter.cancel() }
        for waiter in waiters {
            switch await waiter.result {
            case .success: try self.require(false, "a cancelled task got a lease that another one held")
            case .failure(let error): try self.require(error is CancellationError, "expected CancellationError")
            }
        }
        await lease.release()
        await (try store.acquireSigningLease(of: "a")).release()
    }

    func checkIndependence(of store: any ActivationStore) async throws {
        for id in ["a", "b"] { try await store.insert(Self.record(id)) }
        let one = try await store.acquireSigningLease(of: "a")
        let other = try await store.acquireSigningLease(of: "b")
        await one.release()
        await other.release()
    }

    func checkRelease(of store: any ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        let first = try await store.acquireSigningLease(of: "a")
        await first.release()
        let second = try await store.acquireSigningLease(of: "a")
        await first.release()  // must not release the second one
        let third = Task { try await store.acquireSigningLease(of: "a") }
        third.cancel()
        if case .success = await third.result { try self.require(false, "a second release freed another lease") }
        await second.release()

        _ = try await store.acquireSigningLease(of: "a")
        await (try store.acquireSigningLease(of: "a")).release()
    }

    func checkLeaseOfUnknown(in store: any ActivationStore) async throws {
        try await self.requireError(.activationNotStored) { _ = try await store.acquireSigningLease(of: "a") }
    }
}

private final class HolderCount: Sendable {
    private let count = Mutex(0)

    @discardableResult
    func change(by difference: Int) -> Int {
        self.count.withLock { count in
            count += difference
            return count
        }
    }
}
