extension OperationsFleet {
    /// The part of a fleet's activations that a process polls at the moment.
    public struct Assignment: Sendable, Equatable {
        /// The buckets that this process polls; see ``OperationsFleet/Buckets/bucket(of:count:)``.
        public var buckets: Set<Int>
        /// The number of processes that are alive, this one included. They divide the ``OperationsFleet/ServerLimits``.
        public var processCount: Int

        /// Creates an assignment.
        public init(buckets: Set<Int>, processCount: Int = 1) {
            self.buckets = buckets
            self.processCount = processCount
        }
    }
}

/// The division of activations among the processes that share a store: each is polled by one. Only the one that polls an activation decides on its
/// operations.
///
/// ``SingleProcessMembership`` is the default; ``LocalProcessesMembership`` divides a store among the processes of one
/// machine. `PostgresFleetMembership` of `MobileTokenPostgres` divides a database among machines.
public protocol FleetMembership: Sendable {
    /// The number of buckets, the same in every process.
    var bucketCount: Int { get }

    /// Takes part until the calling task is canceled, and gives back everything before it returns.
    ///
    /// - Parameter assign: To be called whenever the assignment has changed, one call after the other. When it returns, the
    ///   fleet has let go of what is not assigned any more: its polls and decisions have ended. What is given back by
    ///   one's own will is free for others only then; what is lost at once must not be decided on any more, which
    ///   ``holds(_:)`` is asked about.
    /// - Throws: An error that makes taking part impossible.
    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws

    /// Returns whether this process still owns a bucket, as far as it can know at this very moment. Asked right before a
    /// decision; must not block.
    func holds(_ bucket: Int) -> Bool
}

/// One process polls all there is.
public struct SingleProcessMembership: FleetMembership {
    /// The number of buckets: one.
    public let bucketCount = 1

    /// Creates the membership.
    public init() {}

    /// Assigns everything to this process, and returns when its task is canceled. Throws nothing.
    public func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        await assign(OperationsFleet.Assignment(buckets: [0]))
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}  // ends when the task is canceled
        continuation.finish()
    }

    /// Returns `true`.
    public func holds(_ bucket: Int) -> Bool { true }
}
