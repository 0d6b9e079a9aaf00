package import Coordination
import Synchronization

/// The activations being upgraded, queried once a second for all polls of this process. A process that begins an upgrade waits
/// for that second. Then every process that can reach the database knows; others continue polling with older knowledge.
package final class UpgradeWatch: Sendable {
    /// The maximum age of the knowledge.
    private static let lifetime = Duration.seconds(1)

    private struct Knowledge {
        var activationIDs: Set<String> = []
        var end: Duration?
    }

    private let knowledge = Mutex(Knowledge())
    private let asking = Coalescer<Set<String>>()
    private let clock: ServiceClock

    /// - Parameter clock: Measures the age of the knowledge. Each node uses its own; all run equally fast.
    package init(clock: ServiceClock) {
        self.clock = clock
    }

    /// Returns whether an activation is being upgraded.
    ///
    /// - Parameter ask: Queries the database for all upgrades.
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
            // Without a result, polls must not wait again and again.
            knowledge.end = (answer == nil ? self.clock.now : askedAt) + Self.lifetime
            return knowledge.activationIDs
        }
    }

    /// Records that this process has finished an upgrade, so that its own polls continue at once.
    package func end(_ activationID: String) {
        self.knowledge.withLock { _ = $0.activationIDs.remove(activationID) }
    }

    /// Waits until no process relies on older knowledge.
    package func waitUntilKnown() async {
        // Ignores cancellation, because the caller's change is written.
        await shielded { [clock] in try? await clock.sleep(until: clock.now + Self.lifetime) }
        self.knowledge.withLock { $0.end = nil }
    }
}
