import Basics
import Coordination
import PowerAuth

// MARK: Pausing

extension ApprovalAgent {
    /// Makes no more decisions until ``resumeDeciding()``, while polling goes on. What is on its way ends.
    ///
    /// It holds for this agent, as long as its process lives. ``MobileTokenClient/pauseDeciding(reason:)`` stops the agents of
    /// all processes that share the store.
    public func pauseDeciding() {
        self.isPaused = true
        self.followPauses()
    }

    /// Decides again, what came meanwhile included, unless deciding is paused for all.
    public func resumeDeciding() {
        self.isPaused = false
        self.followPauses()
    }

    /// The interval at which stores are asked whether their pause has ended.
    private static let pauseCheckInterval = Duration.seconds(2)

    /// Asks the stores for a pause as often as the fleet searches them, or after each poll of an only activation, until the calling
    /// task is canceled; for lost outcomes too. Nothing else waits for their answers.
    func watchForPauses() async {
        guard !self.fleet.stores.isEmpty else { return }
        await self.fleet.only?.follow(for: ObjectIdentifier(self)) { [pauseCheck] event in
            if case .loading(false) = event { pauseCheck.raise() }
        }
        let alarms = self.fleet.alarms
        while !Task.isCancelled {
            let interval = self.storePause == nil ? self.fleet.searchInterval : Self.pauseCheckInterval
            let alarm = interval.map { alarms.set(self.pauseCheck, at: self.now + $0.bounded) }
            _ = await self.pauseCheck.wait()
            if let alarm { alarms.cancel(alarm) }
            await self.checkForPause()
            await self.findLostOutcomes()
        }
        await self.fleet.only?.follow(for: ObjectIdentifier(self), nil)
    }

    /// Asks the stores for a pause.
    func checkForPause() async {
        do {
            self.storePause = try await Self.pause(in: self.fleet.stores)
            self.followPauses()
        } catch {}  // a store that cannot be read signs nothing either; what is known stands
    }

    private static func pause(in stores: [ActivationStore]) async throws -> DecisionPause? {
        for store in stores {
            if let pause = try await store.decisionPause() { return pause }
        }
        return nil
    }

    /// A decision was refused because of a pause that was not known here.
    func foundPause() {
        self.supervision.pause()
        self.pauseCheck.raise()
    }

    private func followPauses() {
        let isPaused = self.isPaused || self.storePause != nil
        if isPaused { self.supervision.pause() }
        self.follow(isPaused || !self.supervision.isPaused ? [] : self.supervision.resume(at: self.now))
    }
}
