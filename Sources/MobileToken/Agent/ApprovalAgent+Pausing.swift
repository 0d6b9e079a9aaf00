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

    /// How often the store is asked whether its pause has ended. That one has begun needs no looking for: health asks, and the
    /// next signature is refused.
    private static let pauseCheckInterval = Duration.seconds(2)

    /// Asks the stores for a pause.
    func checkForPause() async {
        do {
            self.storePause = try await Self.pause(in: self.source.journals)
            self.nextPauseCheck = self.storePause == nil ? nil : self.now + Self.pauseCheckInterval
            self.followPauses()
        } catch {
            // A store that cannot be read signs nothing either; what is known stands.
            if self.nextPauseCheck != nil { self.nextPauseCheck = self.now + Self.pauseCheckInterval }
            self.setAlarm()
        }
    }

    /// Asks whether a pause has ended, when it is time.
    func checkForEndOfPause() async {
        guard let nextPauseCheck, nextPauseCheck <= self.now else { return }
        await self.checkForPause()
    }

    private static func pause(in journals: [any DecisionJournal]) async throws -> DecisionPause? {
        for journal in journals {
            if let pause = try await journal.decisionPause() { return pause }
        }
        return nil
    }

    /// A decision was refused because of a pause that was not known here.
    func foundPause() {
        self.supervision.pause()
        self.nextPauseCheck = self.now
        self.setAlarm()
    }

    private func followPauses() {
        let isPaused = self.isPaused || self.storePause != nil
        if isPaused { self.supervision.pause() }
        self.follow(isPaused || !self.supervision.isPaused ? [] : self.supervision.resume(at: self.now))
    }
}
