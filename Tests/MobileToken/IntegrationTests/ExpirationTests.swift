import Foundation
import MobileToken
import MobileTokenScreens
import MobileTokenTesting
import PowerAuth
import Testing

/// Operations whose time runs out, with both sides' clocks in the test's hand.
@Suite(.timeLimit(.minutes(5))) struct ExpirationTests {
    @Test func anExpiredOperationLeavesTheListWhenItsTimeIsOver() async throws {
        try await withEmulator { emulator in
            let start = Date(timeIntervalSince1970: 1_750_000_000)
            await emulator.clock.freeze(at: start)
            let clock = ManualClock()
            let zero = clock.now
            let client = try emulator.makeClient {
                $0.clock = clock
                $0.wallClock = { start + zero.duration(to: clock.now) / .seconds(1) }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)

            let service = OperationsService(activation: activation)
            let watcher = ExpirationWatcher(activation: activation, clock: clock)
            var changes = service.changes().makeAsyncIterator()
            let watching = Task { await watcher.watch(service) }
            let long = try await emulator.cloud.createOperation("login", userID: "alice", lifetime: .seconds(600))
            let short = try await emulator.cloud.createOperation("login", userID: "alice", lifetime: .seconds(20))
            try await service.operations()
            #expect(await changes.next()?.added.count == 2)
            await clock.waitForSleepers(1)

            await emulator.clock.advance(by: .seconds(20))
            clock.advance(by: .seconds(20))
            let change = try #require(await changes.next())
            #expect(change.removed.map(\.operation.id) == [short.id])
            #expect(change.removed.map(\.reason) == [.expired])
            #expect(change.operations.map(\.id) == [long.id])

            watching.cancel()
            await watching.value
        }
    }
}
