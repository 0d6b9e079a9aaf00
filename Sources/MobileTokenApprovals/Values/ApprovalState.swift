/// The state of a question in the ledger.
///
/// ```
/// drafted ─▶ open ─▶ approved ─▶ claimed ─▶ done │ threw
///    └────────┴─────────┴─▶ final   └─▶ unknown ─▶ settled
/// ```
public enum ApprovalState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Written down. The server may know of it.
    case drafted
    /// Asked: people can decide.
    case open
    /// Approved by as many as had to. Nothing runs by itself.
    case approved
    /// The action was begun.
    case claimed
    /// The action returned.
    case done
    /// The action threw an error.
    case threw
    /// The action was begun, and nobody knows how far it came.
    case unknown
    /// Somebody found out what became of it.
    case settled
    /// A person said no.
    case rejected
    /// Nobody decided in time.
    case expired
    /// Canceled at the server.
    case canceled
    /// It cannot be approved any more.
    case failed
    /// The server has, or shows, something else than what was asked.
    case mismatched
    /// Taken back by who asked.
    case withdrawn
    /// Approved, but not used in time.
    case lapsed

    /// Indicates that nothing changes it any more, but that somebody settles what is unknown.
    public var isFinal: Bool { !self.isPending && self != .approved && self != .claimed }

    /// Indicates that a person may still be asked, or is.
    var isPending: Bool { self == .drafted || self == .open }

    /// Indicates that the action was begun.
    var wasClaimed: Bool { [.claimed, .done, .threw, .unknown, .settled].contains(self) }

    /// The arrows that leave the state.
    var successors: Set<ApprovalState> { Self.arrows[self] ?? [] }

    /// None leaves a state that is missing here.
    private static let arrows: [ApprovalState: Set<ApprovalState>] = {
        let ends: Set<ApprovalState> = [.rejected, .expired, .canceled, .failed, .mismatched, .withdrawn, .lapsed]
        return [
            .drafted: ends.union([.open, .approved, .unknown]),
            .open: ends.union([.approved, .unknown]),
            .approved: ends.union([.claimed, .unknown]),
            // `lapsed`: too late between the claim and the first instruction, so that nothing ran.
            .claimed: [.done, .threw, .unknown, .lapsed],
            .unknown: [.settled],
        ]
    }()
}
