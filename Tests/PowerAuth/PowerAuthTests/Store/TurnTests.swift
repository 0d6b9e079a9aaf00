import Coordination
import MobileTokenTesting
import StoreTesting
import Testing

import PowerAuth
@testable import PowerAuthClient

/// Number 51: turns end with what they are for.
@Suite(.timeLimit(.minutes(5))) struct TurnTests {
    private static func store(_ clock: any Clock<Duration> = ContinuousClock()) async throws -> ActivationStore {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        let keys = SealingKeys(current: .closure { key })
        let store = ActivationStore(MemoryDriver(), name: "memory", keys: keys, clock: clock)
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        return store
    }

    /// A task that was begun within a turn, and outlives it, does not take itself for its owner.
    @Test func aTurnIsNotInheritedForEver() async throws {
        let store = try await Self.store()
        let other = try await Self.store()
        let isOver = Signal()
        let late = try await store.withSigningTurn(of: "a") { _ in
            #expect(store.hasTurn(of: "a") && !store.hasTurn(of: "another") && !other.hasTurn(of: "a"))
            return Task {
                _ = await isOver.wait()
                return store.hasTurn(of: "a")
            }
        }
        isOver.raise()
        #expect(await late.value == false)
        #expect(!store.hasTurn(of: "a"))
    }

    /// A transport that never returns keeps no process from its end.
    @Test func closingDoesNotWaitForEver() async throws {
        let clock = ManualClock()
        let store = try await Self.store(clock)
        let (begun, goesOn) = (Signal(), Signal())
        let stuck = Task {
            try await store.withSigningTurn(of: "a") { _ in
                begun.raise()
                _ = await goesOn.wait()
            }
        }
        _ = await begun.wait()
        let closing = Task { await store.close() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        await closing.value
        await #expect(throws: MobileTokenError.self) { try await store.open() }
        goesOn.raise()
        _ = await stuck.result
    }
}
