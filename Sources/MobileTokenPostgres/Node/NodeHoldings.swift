import Basics

/// The state of a node: its lease, the rights to sign that it holds under it, and who needs them. It decides; ``Node`` asks the
/// database.
struct NodeHoldings: Sendable {
    /// A node that was not needed for a lifetime.
    struct Idle: Sendable, Equatable {
        /// The lease that is to be given back.
        let seat: Seat?
    }

    /// The step of a node that is needed.
    enum Use: Equatable {
        /// It was closed.
        case refuse
        /// It renews its seat already.
        case goOn
        /// It begins to renew its seat.
        case startKeeper
    }

    private(set) var seat: Seat?
    private(set) var isClosed = false
    /// The activations that it may sign with.
    private var rights: Set<ExactString> = []
    private var handingOver: Set<ExactString> = []
    /// The number of turns and fleets that need the lease.
    private var userCount = 0
    private var lastUse = Duration.zero
    private var isKept = false
    /// The quarantine that was waited for last, and when it ends.
    private var quarantine: (life: Int64, end: Duration)?

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

    /// Ends the keeper when nothing was signed for a lifetime. The seat is given up in the same step, so that no turn begins
    /// under it.
    ///
    /// - Returns: `nil` when the keeper goes on.
    mutating func endIfIdle(at now: Duration, after lifetime: Duration) -> Idle? {
        guard self.userCount == 0, now - self.lastUse > lifetime else { return nil }
        self.isKept = false
        return Idle(seat: self.giveUp())
    }

    /// - Returns: The seat, to be given back.
    mutating func close() -> Seat? {
        self.isClosed = true
        return self.giveUp()
    }

    private mutating func giveUp() -> Seat? {
        self.rights = []
        return self.seat.take()
    }

    // MARK: The seat

    /// The node takes a seat. What it held under another one is nobody's.
    ///
    /// - Returns: `false` when it was closed meanwhile, and the seat is to be given back.
    mutating func took(_ seat: Seat) -> Bool {
        guard !self.isClosed else { return false }
        self.seat = seat
        self.rights = []
        return true
    }

    /// A heartbeat arrived, unless another seat was taken since it was sent.
    mutating func renewed(_ seat: Seat) {
        if self.holds(seat) { self.seat = seat }
    }

    mutating func lost(_ seat: Seat) {
        if self.holds(seat) { _ = self.giveUp() }
    }

    /// Returns how long a quarantine has still to be waited for; `nil` when it is over.
    ///
    /// A lifetime by this machine's clock is enough: the database's may have been put back since the quarantine began.
    mutating func rest(of quarantine: Incarnation.Quarantine, at now: Duration) -> Duration? {
        guard let known = self.quarantine, known.life == quarantine.life else {
            self.quarantine = (quarantine.life, now + quarantine.rest)
            return quarantine.rest
        }
        let rest = min(known.end - now, quarantine.rest)
        return rest > .zero ? rest : nil
    }

    func holds(_ seat: Seat) -> Bool { self.seat?.number == seat.number }

    // MARK: Rights

    func holdsRight(to activationID: String, as seat: Seat) -> Bool {
        self.holds(seat) && self.rights.contains(ExactString(activationID))
    }

    /// The database gave the node a right.
    ///
    /// - Returns: `false` when the seat was lost meanwhile.
    mutating func tookRight(to activationID: String, as seat: Seat) -> Bool {
        guard self.holds(seat) else { return false }
        self.rights.insert(ExactString(activationID))
        return true
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
