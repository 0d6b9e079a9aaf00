/// Where an activation stands in its life.
public enum ActivationState: UInt8, Sendable, Hashable, CaseIterable {
    /// A code was made, and nobody has used it yet.
    case created = 1
    /// Keys were exchanged; the server's side has still to agree.
    case pendingCommit = 2
    /// Signatures are accepted.
    case active = 3
    /// Signatures are refused until the server's side lifts it.
    case blocked = 4
    /// The end: nothing leads out of it.
    case removed = 5
}
