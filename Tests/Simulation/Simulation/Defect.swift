/// A deliberate mistake, to measure how soon it is found. It is in the simulated drivers, transports and applications, never in
/// the product.
enum Defect: String, CaseIterable {
    case none
    /// A swap ignores the signing right.
    case noFence
    /// A swap ignores changes of the row since it was loaded.
    case noTag
    /// A swap ignores the pause.
    case noPause
    /// A swap ignores a rollback of the database.
    case noEpoch
    /// Heartbeats ignore a change of the server.
    case heartbeatOfAnyServer
    /// A lease from before the database's clock was set back lasts on.
    case endlessLease
    /// A new epoch grants leases at once.
    case noQuarantine
    /// A lease is taken even if the epoch whose quarantine was checked has ended.
    case leaseOfAnyEpoch
    /// A suspended node resumes unchecked, with an expired lease.
    case noCheckAfterThaw
    /// The signing right has no deadline for sending the request.
    case noEndOfRight
    /// The transport sends requests after their deadline.
    case sendsTooLate
    /// An outcome that a driver cannot write is lost.
    case losesOutcomes
    /// A driver reports an unknown swap as refused.
    case unknownIsRefused
    /// A node keeps nothing outside the database.
    case noMarks
    /// A transport repeats requests that must not be repeated.
    case repeatsSigned
    /// A pause is read from an old snapshot.
    case readsOldPause
    /// A transport reports the server's acceptance before its response.
    case answersBeforeServer
    /// A transport says that nothing has left when the response was lost.
    case lostIsNeverSent
    /// A transport waits for its limiter when the counter has moved, and the time is looked at before.
    case permitAfterCounter
    /// An upgrade resets the number of counter steps.
    case upgradeResetsNumber
    /// A two-factor token is replaced by a weaker one.
    case keepsWeakToken
    /// A question is claimed after its action.
    case claimsAfterAction
    /// The policy approves unread operations.
    case approvesAll
    /// A swap ignores the limits.
    case noLimit
    /// A swap counts the charges of its own lease alone.
    case countsOneLease
    /// A swap counts charges as they were some seconds ago.
    case countsOldCharges
    /// A restored database leaves the limits open.
    case opensAfterRestore
    /// An outcome that is open gives its charges back.
    case unansweredIsReleased

    /// Indicates whether agents would hide it by resolving decisions again: its driver claims to lose no outcomes.
    var isHealed: Bool { [.losesOutcomes, .unknownIsRefused].contains(self) }

    var rules: Database.Rules {
        Database.Rules(
            fences: self != .noFence,
            pauses: self != .noPause,
            readsOldPause: self == .readsOldPause,
            epochs: self != .noEpoch,
            tags: self != .noTag,
            limits: self == .noLimit
                ? .ignored : self == .countsOneLease ? .ofOneLease : self == .countsOldCharges ? .old : .held
        )
    }
}
