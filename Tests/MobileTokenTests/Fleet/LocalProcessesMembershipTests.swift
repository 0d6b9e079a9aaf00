import Coordination
import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Two processes' memberships over one file: their locks keep each other out as those of two processes do.
@Suite(.timeLimit(.minutes(1))) struct LocalProcessesMembershipTests {
    private let clock = ManualClock()

    /// A membership, and what it was assigned.
    private struct Process {
        let membership: LocalProcessesMembership
        let assignment = Shared(OperationsFleet.Assignment(buckets: []))

        func run(before assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void = { _ in }) -> Task<
            Void, any Error
        > {
            Task { [membership, assignment] in
                try await membership.run {
                    await assign($0)
                    assignment.value = $0
                }
            }
        }
    }

    private func process(_ folder: TemporaryFolder, start: Int = 0) -> Process {
        let path = folder.path + "/private/store-fleet"
        return Process(membership: LocalProcessesMembership(path: path, clock: self.clock, random: { start }))
    }

    /// Lets every process look once.
    private func look(_ count: Int) async {
        await self.clock.waitForSleepers(count)
        self.clock.advance(by: .seconds(1))
        await self.clock.waitForSleepers(count)
    }

    @Test func aProcessAloneTakesEverything() async throws {
        let folder = try TemporaryFolder()
        let one = self.process(folder)
        let running = one.run()
        await self.clock.waitForSleepers(1)
        #expect(one.assignment.value == OperationsFleet.Assignment(buckets: Set(0..<64), processCount: 1))
        #expect((0..<64).allSatisfy { one.membership.holds($0) })
        running.cancel()
        try await running.value
        #expect(one.assignment.value.buckets == [])
        #expect(!one.membership.holds(0))
    }

    @Test func processesShareAndTakeOver() async throws {
        let folder = try TemporaryFolder()
        let (one, two) = (self.process(folder), self.process(folder, start: 32))
        let first = one.run()
        await self.clock.waitForSleepers(1)
        let second = two.run()
        await self.clock.waitForSleepers(2)
        for _ in 0..<3 { await self.look(2) }
        #expect(one.assignment.value.buckets.count == 32)
        #expect(two.assignment.value.buckets == Set(0..<64).subtracting(one.assignment.value.buckets))
        #expect(one.assignment.value.processCount == 2)
        #expect(two.assignment.value.processCount == 2)

        first.cancel()
        try await first.value
        await self.look(1)
        #expect(two.assignment.value == OperationsFleet.Assignment(buckets: Set(0..<64), processCount: 1))
        second.cancel()
        try await second.value
    }

    @Test func aBucketIsFreeOnlyWhenTheFleetHasLetGoOfIt() async throws {
        let folder = try TemporaryFolder()
        let (one, two) = (self.process(folder), self.process(folder, start: 32))
        let (held, release) = (Signal(), Signal())
        let first = one.run { assignment in
            guard assignment.buckets.count == 32 else { return }
            held.raise()
            _ = await release.wait()
            release.raise()
        }
        await self.clock.waitForSleepers(1)
        let second = two.run()
        await self.clock.waitForSleepers(2)
        self.clock.advance(by: .seconds(1))
        #expect(await held.wait())
        await self.clock.waitForSleepers(1)
        // The other looks, and finds nothing.
        self.clock.advance(by: .seconds(1))
        await self.clock.waitForSleepers(1)
        #expect(two.assignment.value.buckets == [])
        #expect((0..<64).count { one.membership.holds($0) } == 32)  // but no decision begins any more
        release.raise()
        await self.look(2)
        await self.look(2)
        #expect(two.assignment.value.buckets.count == 32)
        first.cancel()
        second.cancel()
        try await first.value
        try await second.value
    }

    @Test func aFileThatOthersMayUseIsRefused() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let membership = LocalProcessesMembership(path: folder.file("fleet"), clock: self.clock, random: { 0 })
        let error = try await #require(throws: MobileTokenError.self) { try await membership.run { _ in } }
        #expect(error.code == .storePermissions)
    }
}
