import Basics
import PowerAuth
public import PowerAuthClient
import Synchronization

// MARK: Stopped activations

extension ApprovalAgent {
    /// The reason nothing is decided with these activations, by their identifiers: their factors are wrong, or they have ended.
    public nonisolated var stoppedActivations: [String: MobileTokenError] {
        self.supervision.withLock { $0.stopReasons }
    }

    /// Resumes deciding with a stopped activation, such as after its password was corrected.
    ///
    /// An agent stops with an activation if the server refused a signature and counted a failed attempt, because a few of these
    /// block the activation. It also stops if there is nothing to sign with. Every five minutes it requests the status, without a
    /// signature, and resumes by itself if the activation is active without failed attempts. Factors are then unlocked again.
    /// After ten signatures that the server has not seen, it spends one more each hour, but never the last three of the server's
    /// window.
    ///
    /// Has no effect if the activation is not stopped. An agent for one activation ends when that is stopped.
    public func resumeDeciding(with activationID: String) {
        self.factors.drop(activationID)
        self.supervise { $0.resume(activationID, at: self.now) }
    }

    /// Requests the status of a stopped activation.
    func look(at activationID: String) {
        let isLost = self.stoppedActivations[activationID]?.code == .signaturesAreLost
        self.statusChecks[ExactString(activationID)] = Self.start {
            let evidence = self.fleet.openedService(of: activationID)?.channel.evidence?.source
            let isWell = try? await isLost ? evidence?.signaturesArrive() : evidence?.mayGoOnSigning()
            await self.looked(at: activationID, isWell: isWell ?? false)
        }
    }

    private func looked(at activationID: String, isWell: Bool) {
        self.statusChecks[ExactString(activationID)] = nil
        self.supervise { $0.looked(at: activationID, isWell: isWell, at: self.now) }
    }
}
