/// The state of an activation on the server.
public enum ActivationState: UInt8, Sendable, Hashable, CaseIterable {
    /// An activation code was created and has not been used yet.
    case created = 1
    /// Keys were exchanged; the activation waits for the server to commit it.
    case pendingCommit = 2
    /// Signatures are accepted.
    case active = 3
    /// Signatures are refused until the activation is unblocked on the server.
    case blocked = 4
    /// The activation was removed, for good.
    case removed = 5
}
