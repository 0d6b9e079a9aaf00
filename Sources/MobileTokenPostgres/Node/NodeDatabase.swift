/// The database as a node asks it: for its lease, and for the rights to sign that it holds under it.
///
/// Each call is one transaction, which may have been carried out where the call failed.
package protocol NodeDatabase: Sendable {
    /// Looks whether the database is the one that it was, and returns how long no right may be given yet in its epoch.
    func quarantine() async throws -> DatabaseEpoch.Quarantine

    /// Takes a lease in an epoch whose quarantine is over. The node may have stood still since it looked.
    ///
    /// - Returns: `nil` when another epoch has begun.
    func takeLease(in epoch: DatabaseEpoch.Identity) async throws -> NodeLease?

    /// Renews a lease, and takes away those of nodes that were silent for too long. In another epoch it is lost, as all are.
    func renew(_ lease: NodeLease) async throws -> NodeLease.Heartbeat

    /// Gives a lease back, with all rights that are held under it.
    func leave(_ lease: NodeLease) async throws

    /// Takes the right to sign with an activation, or requests it from the node that holds it.
    func take(_ activationID: String, as lease: NodeLease) async throws -> RightAnswer

    /// Gives a right to the node that has requested it for the longest time.
    func handOver(_ activationID: String, from lease: NodeLease) async throws
}

/// The answer to a node that asks for a right.
package enum RightAnswer: Sendable {
    case taken
    /// Another node has it, and is asked to hand it over.
    case requested
    case leaseLost
    case noActivation
    /// The activation has a form that the node does not read.
    case newerFormat
}

/// A source of notifications, which may get lost.
package protocol NotificationSource: Sendable {
    /// Waits for a notification, or for so long. Returns at once when listening has only just begun.
    ///
    /// - Throws: The error that keeps this node from listening; `CancellationError`.
    func wait(atMost duration: Duration) async throws
}
