import Basics
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

    /// How often at most the store is asked whether deciding is paused for all. Not what the pause rests on: nothing is signed
    /// against it, noticed or not.
    private static let pauseCheckInterval = Duration.seconds(2)

    /// Asks the stores for a pause: when there is news to decide upon or somebody asks for the health, and from time to time
    /// while there is a pause.
    ///
    /// An agent that is not paused sets no alarm for it: whoever moves a manual clock meets only what the bot itself waits for.
    func checkForPause() async {
        guard self.nextPauseCheck <= self.now else { return }
        self.nextPauseCheck = self.now + Self.pauseCheckInterval
        do {
            self.storePause = try await Self.pause(in: self.source.journals)
            self.awaitsResumption = self.storePause != nil
            self.followPauses()
        } catch {
            // A store that cannot be read signs nothing either; what is known stands.
            self.setAlarm()
        }
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
        self.nextPauseCheck = .zero
        self.awaitsResumption = true
        self.setAlarm()
    }

    private func followPauses() {
        if self.isPaused || self.storePause != nil {
            self.supervision.pause()
            self.setAlarm()
        } else {
            self.follow(self.supervision.resume(at: self.now))
        }
    }
}
