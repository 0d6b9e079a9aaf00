import Basics

/// The state of a node: its lease, the rights to sign that it holds under it, and who needs them. It decides; ``Node`` asks the
/// database.
struct NodeState: Sendable {
    /// A node that was not needed for a lifetime.
    struct Idle: Sendable, Equatable {
        /// The lease that is to be given back.
        let lease: NodeLease?
    }

    /// The step of a node that is needed.
    enum Use: Equatable {
        /// It was closed.
        case refuse
        /// It renews its lease already.
        case goOn
        /// It begins to renew its lease.
        case startKeeper
    }

    private(set) var lease: NodeLease?
    private(set) var isClosed = false
    /// The activations that it may sign with.
    private var rights: Set<ExactString> = []
    private var handingOver: Set<ExactString> = []
    /// The number of turns and fleets that need the lease.
    private var userCount = 0
    private var lastUse = Duration.zero
    private var isKept = false
    /// The quarantine that was waited for last, and when it ends.
    private var quarantine: (epoch: DatabaseEpoch.Identity, end: Duration)?

    // MARK: Use

    mutating func beginUse() -> Use {
        guard !self.isClosed else { return .refuse }
        self.userCount += 1
        guard !self.isKept else { return .goOn }
        self.isKept = true
        return .startKeeper
    }

    mutating func endUse(at now: Duration) {
        self.userCount -= 1
        self.lastUse = now
    }

    /// Ends the keeper when nothing was signed for a lifetime. The lease is given up in the same step, so that no turn begins
    /// under it.
    ///
    /// - Returns: `nil` when the keeper goes on.
    mutating func endIfIdle(at now: Duration, after lifetime: Duration) -> Idle? {
        guard self.userCount == 0, now - self.lastUse > lifetime else { return nil }
        self.isKept = false
        return Idle(lease: self.giveUp())
    }

    /// - Returns: The lease, to be given back.
    mutating func close() -> NodeLease? {
        self.isClosed = true
        return self.giveUp()
    }

    private mutating func giveUp() -> NodeLease? {
        self.rights = []
        return self.lease.take()
    }

    // MARK: The lease

    /// The node takes a lease. What it held under another one is nobody's.
    ///
    /// - Returns: `false` when it was closed meanwhile, and the lease is to be given back.
    mutating func begin(_ lease: NodeLease) -> Bool {
        guard !self.isClosed else { return false }
        self.lease = lease
        self.rights = []
        return true
    }

    /// A heartbeat arrived, unless another lease was taken since it was sent.
    mutating func recordRenewal(_ lease: NodeLease) {
        if self.holds(lease) { self.lease = lease }
    }

    mutating func recordLoss(of lease: NodeLease) {
        if self.holds(lease) { _ = self.giveUp() }
    }

    /// Returns how long a quarantine has still to be waited for; `nil` when it is over.
    ///
    /// A lifetime by this machine's clock is enough: the database's may have been put back since the quarantine began.
    mutating func rest(of quarantine: DatabaseEpoch.Quarantine, at now: Duration) -> Duration? {
        guard let known = self.quarantine, known.epoch == quarantine.epoch else {
            self.quarantine = (quarantine.epoch, now + quarantine.rest)
            return quarantine.rest
        }
        let rest = min(known.end - now, quarantine.rest)
        return rest > .zero ? rest : nil
    }

    func holds(_ lease: NodeLease) -> Bool { self.lease?.number == lease.number }

    // MARK: Rights

    func holdsRight(of activationID: String, under lease: NodeLease) -> Bool {
        self.holds(lease) && self.rights.contains(ExactString(activationID))
    }

    /// The database gave the node a right.
    ///
    /// - Returns: `false` when the lease was lost meanwhile.
    mutating func recordRight(of activationID: String, under lease: NodeLease) -> Bool {
        guard self.holds(lease) else { return false }
        self.rights.insert(ExactString(activationID))
        return true
    }

    /// The database names the holder of a right; `nil` when nobody alive has it.
    mutating func recordHolder(_ number: Int64?, of activationID: String) {
        if number != self.lease?.number { self.forget(activationID) }
    }

    mutating func forget(_ activationID: String) { self.rights.remove(ExactString(activationID)) }

    // MARK: Handing over

    /// - Returns: `false` when the right is being handed over already.
    mutating func beginHandingOver(_ activationID: String) -> Bool {
        self.handingOver.insert(ExactString(activationID)).inserted
    }

    mutating func endHandingOver(_ activationID: String) {
        self.handingOver.remove(ExactString(activationID))
    }
}
