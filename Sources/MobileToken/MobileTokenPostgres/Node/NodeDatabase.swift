/// The database for a node's lease and rights. Each call is one transaction, which may have been carried out even if the call
/// failed.
package protocol NodeDatabase: Sendable {
    /// Checks whether the database is the same, and returns the remaining quarantine of its epoch.
    func quarantine() async throws -> DatabaseEpoch.Quarantine

    /// Takes a lease in an epoch after its quarantine. The node may have been suspended since.
    ///
    /// - Returns: `nil` if another epoch has begun.
    func takeLease(in epoch: DatabaseEpoch.Identity) async throws -> NodeLease?

    /// Renews a lease, and deletes expired ones. In another epoch all leases are lost.
    func renew(_ lease: NodeLease) async throws -> NodeLease.Heartbeat

    /// Returns a lease with all its rights.
    func leave(_ lease: NodeLease) async throws

    /// Takes the right to sign with an activation, or requests it from its holder.
    func take(_ activationID: String, as lease: NodeLease) async throws -> RightAnswer

    /// Gives a right to the node that has waited longest.
    func handOver(_ activationID: String, from lease: NodeLease) async throws
}

package enum RightAnswer: Sendable {
    case taken
    /// Another node has it, and has been asked to hand it over.
    case requested
    case leaseLost
    case noActivation
    /// The node cannot read the activation's format.
    case newerFormat
}

/// A source of notifications, which may get lost.
package protocol NotificationSource: Sendable {
    /// Waits for a notification or until a timeout. Returns at once if listening has just begun.
    ///
    /// - Throws: The error of listening; `CancellationError`.
    func wait(atMost duration: Duration) async throws
}
