import Basics

/// The state of a node: its lease, rights to sign, and users. It decides; ``Node`` uses the database.
struct NodeState: Sendable {
    /// A node without users for a lifetime.
    struct Idle: Sendable, Equatable {
        /// The lease to return.
        let lease: NodeLease?
    }

    /// The next step of a node with a new user.
    enum Use: Equatable {
        /// The node was closed.
        case refuse
        /// The node already renews its lease.
        case goOn
        /// The node starts to renew its lease.
        case startKeeper
    }

    private(set) var lease: NodeLease?
    private(set) var isClosed = false
    private var rights: Set<ExactString> = []
    private var handingOver: Set<ExactString> = []
    /// The number of turns and fleets that use the lease.
    private var userCount = 0
    private var lastUse = Duration.zero
    private var isKept = false
    /// The last quarantine, and when it ends.
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

    /// Ends the keeper after a lifetime without signatures. The lease is given up in the same step, so that no turn begins under
    /// it.
    ///
    /// - Returns: `nil` if the keeper continues.
    mutating func endIfIdle(at now: Duration, after lifetime: Duration) -> Idle? {
        guard self.userCount == 0, now - self.lastUse > lifetime else { return nil }
        self.isKept = false
        return Idle(lease: self.giveUp())
    }

    /// - Returns: The lease to return.
    mutating func close() -> NodeLease? {
        self.isClosed = true
        return self.giveUp()
    }

    private mutating func giveUp() -> NodeLease? {
        self.rights = []
        return self.lease.take()
    }

    // MARK: The lease

    /// Records a new lease. Rights under a former one are lost.
    ///
    /// - Returns: `false` if the node was closed; return the lease then.
    mutating func begin(_ lease: NodeLease) -> Bool {
        guard !self.isClosed else { return false }
        self.lease = lease
        self.rights = []
        return true
    }

    /// Records a renewal, unless another lease was taken since it was sent.
    mutating func recordRenewal(_ lease: NodeLease) {
        if self.holds(lease) { self.lease = lease }
    }

    mutating func recordLoss(of lease: NodeLease) {
        if self.holds(lease) { _ = self.giveUp() }
    }

    /// Returns the remaining quarantine; `nil` if it is over. A lifetime by this machine's clock suffices, because the database's
    /// clock may have been set back.
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

    /// Records a right from the database. Returns `false` if the lease was lost meanwhile.
    mutating func recordRight(of activationID: String, under lease: NodeLease) -> Bool {
        guard self.holds(lease) else { return false }
        self.rights.insert(ExactString(activationID))
        return true
    }

    /// Records the living holder of a right, according to the database; `nil` if there is none.
    mutating func recordHolder(_ number: Int64?, of activationID: String) {
        if number != self.lease?.number { self.forget(activationID) }
    }

    mutating func forget(_ activationID: String) { self.rights.remove(ExactString(activationID)) }

    // MARK: Handing over

    /// - Returns: `false` if the right is being handed over already.
    mutating func beginHandingOver(_ activationID: String) -> Bool {
        self.handingOver.insert(ExactString(activationID)).inserted
    }

    mutating func endHandingOver(_ activationID: String) {
        self.handingOver.remove(ExactString(activationID))
    }
}
