/// The state of an activation on the server.
public enum ActivationState: UInt8, Sendable, Hashable, CaseIterable {
    /// An activation code was created but not used yet.
    case created = 1
    /// Keys were exchanged. The server has yet to commit the activation.
    case pendingCommit = 2
    /// Signatures are accepted.
    case active = 3
    /// Signatures are refused until the server unblocks the activation.
    case blocked = 4
    /// The activation was removed permanently.
    case removed = 5
}
