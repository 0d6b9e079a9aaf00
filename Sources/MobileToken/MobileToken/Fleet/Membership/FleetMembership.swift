extension OperationsFleet {
    /// The part of a fleet's activations that a process currently polls.
    package struct Assignment: Sendable, Equatable {
        /// The buckets that this process polls; see `Buckets`.
        package var buckets: Set<Int>
        /// The number of live processes, including this one. They divide the ``OperationsFleet/ServerLimits``.
        package var processCount: Int

        /// Creates an assignment.
        package init(buckets: Set<Int>, processCount: Int = 1) {
            self.buckets = buckets
            self.processCount = processCount
        }
    }
}

/// The division of activations among the processes that share a store. Only the process that polls an activation decides on its
/// operations.
///
/// `SingleProcessMembership` is the default. `PostgresFleetMembership` of `MobileTokenPostgres` divides a database among processes and
/// machines.
package protocol FleetMembership: Sendable {
    /// The number of buckets, the same in every process.
    var bucketCount: Int { get }

    /// Participates until the calling task is canceled, and releases all buckets before it returns.
    ///
    /// - Parameter assign: Called for each new assignment, one call at a time. When `assign` returns, the fleet no longer polls
    ///   or decides in buckets it was not assigned. Release a bucket voluntarily only after that. If a bucket is lost without
    ///   warning, `holds(_:)` must return `false` from that moment.
    /// - Throws: An error that makes participation impossible.
    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws

    /// Returns whether this process still owns a bucket, to its current knowledge. Called right before a decision; must not
    /// block.
    func holds(_ bucket: Int) -> Bool
}

/// A membership that continues after failures, and reports them.
package protocol FailureReportingMembership: FleetMembership {
    /// Participates as `FleetMembership.run(assign:)` does.
    ///
    /// - Parameter report: Called after each check of the other processes with its error; with `nil` if it succeeded.
    func run(
        assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void,
        report: @escaping @Sendable (MobileTokenError?) async -> Void
    ) async throws
}

/// A membership for a single process, which polls all activations.
package struct SingleProcessMembership: FleetMembership {
    /// The number of buckets: one.
    package let bucketCount = 1

    /// Creates the membership.
    package init() {}

    /// Assigns all buckets to this process, and returns when its task is canceled. Never throws.
    package func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        await assign(OperationsFleet.Assignment(buckets: [0]))
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}  // ends when the task is canceled
        continuation.finish()
    }

    /// Returns `true`.
    package func holds(_ bucket: Int) -> Bool { true }
}
