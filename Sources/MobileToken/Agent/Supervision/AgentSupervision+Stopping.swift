import Basics
package import PowerAuth

// Activations that nothing is decided with: their factors are wrong, or they have ended.
extension AgentSupervision {
    /// The reason nothing is decided with these activations. Those that another process has now are left out: it may decide with them.
    package var stopReasons: [String: MobileTokenError] {
        var reasons: [String: MobileTokenError] = [:]
        for (id, activation) in self.activations where !activation.isReleased {
            reasons[id.string] = activation.stop?.reason
        }
        return reasons
    }

    /// Begins nothing more with an activation until it is looked at again.
    mutating func stop(_ activationID: String, _ reason: MobileTokenError, at now: Duration) -> [Action] {
        self.activations[ExactString(activationID)]?.stop = .init(reason: reason)
        self.lookLater(activationID, at: now)
        return [.report(.init(activationID: activationID, kind: .stopped(reason)))]
    }

    /// A stopped activation was looked at.
    ///
    /// - Parameter isWell: `true` if nothing in the server's status speaks against the activation's next signature.
    package mutating func looked(at activationID: String, isWell: Bool, at now: Duration) -> [Action] {
        guard self.activations[ExactString(activationID)]?.stop != nil else { return [] }
        if isWell { return self.resume(activationID, at: now) }
        self.lookLater(activationID, at: now)
        return []
    }

    /// Decides with an activation again, whatever it was stopped for.
    package mutating func resume(_ activationID: String, at now: Duration) -> [Action] {
        let id = ExactString(activationID)
        guard self.activations[id]?.stop != nil else { return [] }
        self.activations[id]?.stop = nil
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
        return [.report(.init(activationID: activationID, kind: .resumed))] + self.begin(at: now)
    }

    private mutating func lookLater(_ activationID: String, at now: Duration) {
        let time = now + self.limits.lookInterval.bounded
        self.activations[ExactString(activationID)]?.stop?.nextLook = time
        self.setAlarm(at: time, activationID, nil)
    }
}
