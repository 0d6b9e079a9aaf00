import Basics
import Coordination
import Foundation
import PowerAuth
import Synchronization

// MARK: Pausing

extension ApprovalAgent {
    /// Stops new decisions until ``resumeDeciding()``. Polling continues, and decisions in flight finish.
    ///
    /// Applies to this agent in its process. ``MobileTokenClient/pauseDeciding(reason:)`` stops the agents of all processes that
    /// share the store.
    public func pauseDeciding() {
        self.standing.isPaused = true
        self.followPauses()
    }

    /// Resumes deciding, including operations that arrived meanwhile, unless deciding is paused for all processes.
    public func resumeDeciding() {
        self.standing.isPaused = false
        self.followPauses()
    }

    /// The interval between checks whether a store's pause has ended.
    private static let pauseCheckInterval = Duration.seconds(2)

    /// Checks the stores for a pause and for lost outcomes at the fleet's search interval, or after each poll of a single
    /// activation, until the task is canceled. Nothing else waits for the stores here.
    func watchForPauses() async {
        guard !self.fleet.stores.isEmpty else { return }
        await self.fleet.only?.follow(for: ObjectIdentifier(self)) { [pauseCheck] event in
            if case .loading(false) = event { pauseCheck.raise() }
        }
        let alarms = self.fleet.alarms
        while !Task.isCancelled {
            let interval = self.standing.storePause == nil ? self.fleet.searchInterval : Self.pauseCheckInterval
            let alarm = interval.map { alarms.set(self.pauseCheck, at: self.now + $0.bounded) }
            _ = await self.pauseCheck.wait()
            if let alarm { alarms.cancel(alarm) }
            await self.checkForPause()
            await self.findLostOutcomes()
        }
        await self.fleet.only?.follow(for: ObjectIdentifier(self), nil)
    }

    func checkForPause() async {
        do {
            self.standing.storePause = try await Self.pause(in: self.fleet.stores)
            self.followPauses()
            self.standing.areLimitsClosed = try await self.areLimitsClosed()
        } catch {}  // a store that cannot be read signs nothing either; what is known stands
    }

    private static func pause(in stores: [ActivationStore]) async throws -> DecisionPause? {
        for store in stores {
            if let pause = try await store.decisionPause() { return pause }
        }
        return nil
    }

    private func areLimitsClosed() async throws -> Bool {
        let now = self.fleet.only?.channel.serverDate ?? self.fleet.clients.first?.configuration.wallClock() ?? Date()
        guard let first = self.configuration.limits.compactMap({ $0.window.period?.first(at: now) }).min() else {
            return false
        }
        for store in self.fleet.stores {
            if let closure = try await store.limitUse([]).closure, closure >= first { return true }
        }
        return false
    }

    /// Handles a decision refused because of a pause unknown here.
    func foundPause() {
        self.supervision.withLock { $0.pause() }
        self.pauseCheck.raise()
    }

    private func followPauses() {
        let isPaused = self.standing.isHeld
        self.supervise { supervision in
            if isPaused { supervision.pause() }
            return supervision.isPaused && !isPaused ? supervision.resume(at: self.now) : []
        }
    }
}
