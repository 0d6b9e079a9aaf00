package import Coordination
import Synchronization

/// The activations that are being upgraded, asked of the database once a second for all polls of this process.
///
/// A process that begins an upgrade waits for that second before it goes on. Then every process knows that can reach the database;
/// one that cannot goes on polling by what it knew.
package final class UpgradeWatch: Sendable {
    /// The age that knowledge may have.
    private static let lifetime = Duration.seconds(1)

    private struct Knowledge {
        var activationIDs: Set<String> = []
        var end: Duration?
    }

    private let knowledge = Mutex(Knowledge())
    private let asking = Coalescer<Set<String>>()
    private let clock: ServiceClock

    /// - Parameter clock: Tells how old knowledge is: on each node its own, all of which run equally fast.
    package init(clock: ServiceClock) {
        self.clock = clock
    }

    /// Returns whether an activation is being upgraded.
    ///
    /// - Parameter ask: Asks the database for all that are.
    package func contains(
        _ activationID: String,
        ask: @escaping @Sendable () async throws -> Set<String>
    ) async throws -> Bool {
        let known = self.knowledge.withLock { knowledge in
            knowledge.end.flatMap { self.clock.now < $0 ? knowledge.activationIDs : nil }
        }
        if let known { return known.contains(activationID) }
        return try await self.asking.run { try await self.renew(ask) }.contains(activationID)
    }

    private func renew(_ ask: @escaping @Sendable () async throws -> Set<String>) async throws -> Set<String> {
        let askedAt = self.clock.now
        var answer: Set<String>?
        do {
            answer = try await withDeadline(askedAt + Self.lifetime, on: self.clock, ask)
        } catch let error as MobileTokenError where error.isPassing {}
        return self.knowledge.withLock { knowledge in
            if let answer { knowledge.activationIDs = answer }
            // Without an answer, polls are not to wait for one again and again.
            knowledge.end = (answer == nil ? self.clock.now : askedAt) + Self.lifetime
            return knowledge.activationIDs
        }
    }

    /// Notes that this process has ended an upgrade: its own polls need not wait until it asks again.
    package func end(_ activationID: String) {
        self.knowledge.withLock { _ = $0.activationIDs.remove(activationID) }
    }

    /// Waits until no process relies on what it knew before.
    package func waitUntilKnown() async {
        // To the end, though the caller may be canceled: its change is written.
        await shielded { [clock] in try? await clock.sleep(until: clock.now + Self.lifetime) }
        self.knowledge.withLock { $0.end = nil }
    }
}
