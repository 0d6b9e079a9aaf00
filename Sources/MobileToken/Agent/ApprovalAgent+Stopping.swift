import Basics
public import PowerAuth

// MARK: Activations that nothing is decided with

extension ApprovalAgent {
    /// The reason nothing is decided with these activations, by their identifiers: their factors are wrong, or they have ended.
    public var stoppedActivations: [String: MobileTokenError] { self.supervision.stopReasons }

    /// Decides again with an activation that was stopped, such as when its password was put right.
    ///
    /// An agent stops deciding with an activation when the server itself refused a signature and counted it as a failed attempt, a
    /// few of which block the activation, or when there is nothing to sign with. Every five minutes it asks for the status, which
    /// signs nothing, and goes on by itself when the activation is active and has no failed attempts. Factors are unlocked anew.
    ///
    /// Does nothing with an activation that is not stopped. An agent for one activation ends when that is stopped.
    public func resumeDeciding(with activationID: String) {
        self.factors.drop(activationID)
        self.follow(self.supervision.resume(activationID, at: self.now))
    }

    /// Asks for the status of a stopped activation.
    func look(at activationID: String) {
        self.statusChecks[ExactString(activationID)] = Self.start {
            let evidence = await self.fleet.openedService(of: activationID)?.channel.evidence?.source
            let isWell = try? await evidence?.mayGoOnSigning()
            await self.looked(at: activationID, isWell: isWell ?? false)
        }
    }

    private func looked(at activationID: String, isWell: Bool) {
        self.statusChecks[ExactString(activationID)] = nil
        self.follow(self.supervision.looked(at: activationID, isWell: isWell, at: self.now))
    }
}
