import Basics
public import PowerAuthClient

extension OperationsFleet {
    /// The state of a fleet, for health checks.
    public struct Health: Sendable {
        /// An error with its time and place.
        public struct Failure: Sendable {
            /// The activation concerned; `nil` for the store or the membership.
            public let activationID: String?
            /// The error.
            public let error: MobileTokenError
            /// The time since the error.
            public let age: Duration
            /// Indicates whether the same poll, status request or store read has succeeded since.
            public let isOver: Bool

            /// Creates a failure, for tests.
            package init(activationID: String?, error: MobileTokenError, age: Duration, isOver: Bool = false) {
                self.activationID = activationID
                self.error = error
                self.age = age
                self.isOver = isOver
            }
        }

        /// The number of activations polled by this process, in each nonempty phase.
        public var counts: [OperationsFleet.ActivationState.Phase: Int] = [:]
        /// The number of activations in the store that another process polls.
        package var elsewhereCount = 0
        /// The age of the oldest last successful poll among active activations; `nil` if there are none.
        public var oldestSuccessfulPoll: Duration?
        /// The local clock's lead over each server's (negative if behind), once known.
        package var clockSkews: [String: Duration] = [:]
        /// The skew above which ``isClockSkewed`` is `true`.
        package var clockSkewThreshold: Duration = .seconds(30)
        /// The remaining time for which polls of a server are held back, after failures or by `Retry-After`.
        public var heldBack: [String: Duration] = [:]
        /// The last failure; ``Failure/isOver`` is `true` once it has passed.
        public var lastFailure: Failure?
        /// The number of unreadable listed operations, which are not decided here: the bank's format may have changed.
        public var unreadable = 0
        /// The number of decisions in progress.
        public var decisionsInFlight = 0
        /// The number of sent decisions with an unknown outcome.
        public var decisionsUnknown = 0
        /// Indicates whether ``OperationsFleet/run()`` is running.
        public var isRunning = false

        /// Creates the health of a fleet that does not run, for tests.
        package init() {}

        /// The greatest difference to a server's clock, in either direction.
        public var clockSkew: Duration { self.clockSkews.values.map { $0 < .zero ? .zero - $0 : $0 }.max() ?? .zero }
        /// Indicates whether the local clock or a server's is off by more than the threshold.
        public var isClockSkewed: Bool { self.clockSkew > self.clockSkewThreshold }
        /// The number of activations that this process polls, including ended ones.
        public var count: Int { self.counts.values.reduce(0, +) }
    }
}

struct FleetFailure: Sendable {
    /// The subject of a failure. A later success of the same subject ends it.
    enum Subject: Sendable, Equatable {
        case activation(ExactString)
        /// A store, by the index of its client.
        case store(Int)
        case membership
    }

    let subject: Subject
    let error: MobileTokenError
    let time: Duration
    var isOver = false

    func seen(at now: Duration) -> OperationsFleet.Health.Failure {
        let id: String? = if case .activation(let id) = self.subject { id.string } else { nil }
        return OperationsFleet.Health.Failure(
            activationID: id,
            error: self.error,
            age: now - self.time,
            isOver: self.isOver
        )
    }
}
