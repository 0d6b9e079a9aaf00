import Basics
package import MobileTokenErrors
import PowerAuthClient

// Stopped activations: their factors are wrong, or they have ended.
extension AgentSupervision {
    /// The reasons of the stopped activations, without those that another process now owns and may decide with.
    package var stopReasons: [String: MobileTokenError] {
        var reasons: [String: MobileTokenError] = [:]
        for (id, activation) in self.activations where !activation.isReleased {
            if let reason = activation.stop?.reason { reasons[id.string] = reason }
        }
        return reasons
    }

    /// Stops deciding with an activation until it is checked again.
    mutating func stop(_ activationID: String, _ reason: MobileTokenError, at now: Duration) -> [Action] {
        // A check that fails meanwhile for the same reason does not postpone the next one.
        guard self.activations[ExactString(activationID)]?.stop?.reason.code != reason.code else { return [] }
        self.activations[ExactString(activationID)]?.stop = .init(reason: reason)
        self.lookLater(activationID, at: now)
        return [.report(.init(activationID: activationID, kind: .stopped(reason)))]
    }

    /// Handles a failed poll: stops the activation if signatures are lost, because then even listing operations fails.
    package mutating func pollFailed(_ error: MobileTokenError, of activationID: String, at now: Duration) -> [Action] {
        guard error.code == .signaturesAreLost else { return [] }
        let id = ExactString(activationID)
        self.activations[id] = self.activations[id] ?? SupervisedActivation(activationID)
        return self.stop(activationID, error, at: now)
    }

    /// Handles the check of a stopped activation.
    ///
    /// - Parameter isWell: `true` if the server's status permits the activation's next signature.
    package mutating func looked(at activationID: String, isWell: Bool, at now: Duration) -> [Action] {
        guard self.activations[ExactString(activationID)]?.stop != nil else { return [] }
        if isWell { return self.resume(activationID, at: now) }
        self.lookLater(activationID, at: now)
        return []
    }

    /// Resumes deciding with an activation, whatever the reason of its stop.
    package mutating func resume(_ activationID: String, at now: Duration) -> [Action] {
        let id = ExactString(activationID)
        guard self.activations[id]?.stop != nil else { return [] }
        self.activations[id]?.stop = nil
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
        return [.report(.init(activationID: activationID, kind: .resumed))] + self.begin(at: now)
    }

    private mutating func lookLater(_ activationID: String, at now: Duration) {
        let isSigning = self.activations[ExactString(activationID)]?.stop?.reason.code == .signaturesAreLost
        let time = now + (isSigning ? self.limits.trialInterval : self.limits.lookInterval).bounded
        self.activations[ExactString(activationID)]?.stop?.nextLook = time
        self.setAlarm(at: time, activationID, nil)
    }
}
