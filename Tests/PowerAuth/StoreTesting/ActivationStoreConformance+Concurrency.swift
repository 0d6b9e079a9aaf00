import PowerAuth
import Synchronization

// Concurrent changes, and signing turns.
extension ActivationStoreConformance {
    func checkConcurrentChanges(through handles: [ActivationStore]) async throws {
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

    func checkConcurrentFailures(in store: ActivationStore) async throws {
        struct Refusal: Error {}
        let ids = (0..<12).map { "a\($0)" }
        for id in ids { try await store.insert(Self.sparseRecord(id)) }
        let refused = try await withThrowingTaskGroup(of: Int.self) { group in
            for (number, id) in ids.enumerated() {
                group.addTask {
                    do {
                        try await store.update(id) { record in
                            record.takeMove()
                            if number.isMultiple(of: 3) { throw Refusal() }
                        }
                        return 0
                    } catch is Refusal {
                        return 1
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        try self.require(refused == 4, "a change failed because of another one, or an error was swallowed")
        for (number, id) in ids.enumerated() {
            let moves = try await store.record(of: id)?.history.moves
            try self.require(moves == (number.isMultiple(of: 3) ? 0 : 1), "a change was lost, or kept though it threw")
        }
    }

    func checkExclusion(through handles: [ActivationStore]) async throws {
        try await handles.first?.insert(Self.record("a"))
        let holders = HolderCount()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<20 {
                let store = handles[task % handles.count]
                group.addTask {
                    try await store.withSigningTurn(of: "a") { turn in
                        let isAlone = holders.change(by: 1) == 1
                        for _ in 0..<20 { await Task.yield() }
                        try await turn.update { $0.takeMove() }
                        holders.change(by: -1)
                        return isAlone
                    }
                }
            }
            for try await isAlone in group { try self.require(isAlone, "two had the turn at once") }
        }
    }

    func checkChangesWithinTurn(in store: ActivationStore) async throws {
        struct Refusal: Error {}
        try await store.insert(Self.record("a"))
        var expected = Self.record("a")
        expected.takeMove()
        let record = try await store.withSigningTurn(of: "a") { turn in
            try self.require(turn.activationID == "a", "the turn is of another activation")
            try self.require(try await turn.record == Self.record("a"), "the turn has another record")
            try await turn.update { $0.takeMove() }
            do {
                try await turn.update { record in
                    record.takeMove()
                    throw Refusal()
                }
            } catch is Refusal {}
            return try await turn.record
        }
        try self.require(record == expected, "the turn does not see its own change, or sees one that threw")
        try self.require(try await store.record(of: "a") == expected, "a change within a turn was not kept")
    }

    func checkStarvation(in store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        let served = HolderCount()
        let waiting = Task { try await store.withSigningTurn(of: "a") { _ in _ = served.change(by: 1) } }
        var rounds = 0
        while served.change(by: 0) == 0, rounds < 100_000 {
            try await store.withSigningTurn(of: "a") { _ in await Task.yield() }
            rounds += 1
        }
        waiting.cancel()  // only matters when it was not served
        _ = await waiting.result
        try self.require(served.change(by: 0) == 1, "a waiter is passed over forever")
    }

    func checkCancellation(of store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.withSigningTurn(of: "a") { _ in
            let waiters = (0..<10).map { _ in Task { try await store.withSigningTurn(of: "a") { _ in } } }
            for waiter in waiters { waiter.cancel() }
            for waiter in waiters {
                switch await waiter.result {
                case .success: try self.require(false, "a canceled task got a turn that another one had")
                case .failure(let error): try self.require(error is CancellationError, "expected CancellationError")
                }
            }
        }
        try await store.withSigningTurn(of: "a") { _ in }
    }

    func checkIndependence(of store: ActivationStore) async throws {
        for id in ["a", "b"] { try await store.insert(Self.record(id)) }
        try await store.withSigningTurn(of: "a") { _ in
            try await store.withSigningTurn(of: "b") { _ in }
        }
    }

    func checkThrowingTurn(of store: ActivationStore) async throws {
        struct Refusal: Error {}
        try await store.insert(Self.record("a"))
        do {
            try await store.withSigningTurn(of: "a") { _ in throw Refusal() }
            try self.require(false, "the body's error was swallowed")
        } catch is Refusal {}
        try await store.withSigningTurn(of: "a") { _ in }
    }

    func checkTurnOfUnknown(in store: ActivationStore) async throws {
        try await self.requireError(.activationNotStored) { try await store.withSigningTurn(of: "a") { _ in } }
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
