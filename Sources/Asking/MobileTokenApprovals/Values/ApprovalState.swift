/// The state of a question in the ledger.
///
/// ```
/// drafted ─▶ open ─▶ approved ─▶ claimed ─▶ done │ threw
///    └────────┴─────────┴─▶ final   └─▶ unknown ─▶ settled
/// ```
public enum ApprovalState: String, Sendable, Hashable, Codable, CaseIterable {
    /// Recorded. The server may know of it.
    case drafted
    /// Asked: people can decide.
    case open
    /// Approved by the required number of people. Nothing runs by itself.
    case approved
    /// The action has begun.
    case claimed
    /// The action returned.
    case done
    /// The action threw an error.
    case threw
    /// The action has begun, and its progress is unknown.
    case unknown
    /// A person reported the outcome.
    case settled
    /// A person rejected it.
    case rejected
    /// The deadline passed without a decision.
    case expired
    /// Canceled at the server.
    case canceled
    /// It can no longer be approved.
    case failed
    /// The server has, or shows, something other than the question.
    case mismatched
    /// Withdrawn by the requester.
    case withdrawn
    /// Approved, but not used in time.
    case lapsed

    /// `true` if the state can no longer change, except that `unknown` can become `settled`.
    public var isFinal: Bool { !self.isPending && self != .approved && self != .claimed }

    /// Indicates whether a person may still be asked, or is.
    var isPending: Bool { self == .drafted || self == .open }

    /// Indicates whether the action has begun.
    var wasClaimed: Bool { [.claimed, .done, .threw, .unknown, .settled].contains(self) }

    var successors: Set<ApprovalState> { Self.arrows[self] ?? [] }

    /// The transitions; a missing state has no successors.
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
