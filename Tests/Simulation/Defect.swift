/// A mistake that is put in on purpose, to see how soon it is found. None of it is in the product: it sits in the parts of the
/// world that stand for a driver, a transport or an application.
enum Defect: String, CaseIterable {
    case none
    /// A swap does not look who may sign.
    case noFence
    /// A swap does not look whether the row is the one that was loaded.
    case noTag
    /// A swap does not look at the pause.
    case noPause
    /// A swap does not look whether the database went back.
    case noEpoch
    /// Heartbeats do not look whether it is another server that answers.
    case heartbeatOfAnyServer
    /// A lease of a time before the clock of the database was set back lasts on.
    case endlessLease
    /// After an epoch began, leases are given at once.
    case noQuarantine
    /// A lease is taken whether or not the epoch has ended whose quarantine was looked at.
    case leaseOfAnyEpoch
    /// A node that stood still goes on as if nothing had happened: it relies on a lease that is over.
    case noCheckAfterThaw
    /// The right to sign has no end, by which a request must have left.
    case noEndOfRight
    /// The transport sends what may not leave any more.
    case sendsTooLate
    /// The outcome that a driver cannot write is lost.
    case losesOutcomes
    /// A driver says that a swap was refused when it does not know.
    case unknownIsRefused
    /// A node remembers nothing outside of the database.
    case noMarks
    /// A transport takes the page of a proxy for a refusal of the server.
    case proxyPageIsRefusal
    /// A transport sends again what must not be repeated.
    case repeatsSigned
    /// A pause is read from an old snapshot.
    case readsOldPause
    /// A transport says that the server agreed before it has answered.
    case answersBeforeServer
    /// A transport waits for its limiter when the counter has moved, and the time is looked at before.
    case permitAfterCounter
    /// An upgrade counts the moves of the counter anew.
    case upgradeResetsNumber
    /// A token of two factors gives way to one of fewer.
    case keepsWeakToken
    /// A question is claimed when its action is over.
    case claimsAfterAction
    /// The policy approves what it did not read.
    case approvesAll

    /// Indicates that agents would hide it, since they find out again what became of decisions: its driver says that it loses no outcomes.
    var isHealed: Bool { [.losesOutcomes, .unknownIsRefused].contains(self) }

    var rules: Database.Rules {
        Database.Rules(
            fences: self != .noFence,
            pauses: self != .noPause,
            readsOldPause: self == .readsOldPause,
            epochs: self != .noEpoch,
            tags: self != .noTag
        )
    }
}
