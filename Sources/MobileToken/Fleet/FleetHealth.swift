import Basics
public import PowerAuth

extension OperationsFleet {
    /// The state of a fleet: a value to answer a health check with.
    public struct Health: Sendable {
        /// An error, and when and where it happened.
        public struct Failure: Sendable {
            /// The activation that it happened to; `nil` when it concerns the store or the membership.
            public let activationID: String?
            /// The error.
            public let error: MobileTokenError
            /// The time since it happened.
            public let age: Duration
            /// The failure has passed: the same poll, status or look into the store has succeeded since.
            public let isOver: Bool

            /// Creates a failure, for tests of what shows it.
            public init(activationID: String?, error: MobileTokenError, age: Duration, isOver: Bool = false) {
                self.activationID = activationID
                self.error = error
                self.age = age
                self.isOver = isOver
            }
        }

        /// The number of activations in each phase, of those that this process polls. Phases without any are left out.
        public var counts: [OperationsFleet.ActivationState.Phase: Int] = [:]
        /// The number of activations in the store that another process polls.
        public var elsewhereCount = 0
        /// The age of the oldest last successful poll of an active activation; `nil` without any.
        public var oldestSuccessfulPoll: Duration?
        /// For each server by how much the local clock is ahead of its (positive) or behind it (negative), once known.
        public var clockSkews: [String: Duration] = [:]
        /// The skew from which on ``isClockSkewed`` warns.
        public var clockSkewThreshold: Duration = .seconds(30)
        /// For how long polls of a server are held back, for those of which they are: failures, or `Retry-After`.
        public var heldBack: [String: Duration] = [:]
        /// The last failure, if there was any; ``Failure/isOver`` tells that it has passed.
        public var lastFailure: Failure?
        /// The number of decisions under way.
        public var decisionsInFlight = 0
        /// The number of decisions that were sent, and of which nobody knows what became.
        public var decisionsUnknown = 0
        /// Indicates whether ``OperationsFleet/run()`` is running.
        public var isRunning = false

        /// Creates the health of a fleet that does not run, for tests of what shows it.
        public init() {}

        /// The greatest skew of ``clockSkews``, in either direction.
        public var clockSkew: Duration { self.clockSkews.values.map { $0 < .zero ? .zero - $0 : $0 }.max() ?? .zero }
        /// Indicates whether a clock is off by more than the threshold: the local one or a server's.
        public var isClockSkewed: Bool { self.clockSkew > self.clockSkewThreshold }
        /// The number of activations that this process polls, ended ones included.
        public var count: Int { self.counts.values.reduce(0, +) }
    }
}

/// The last failure of a fleet.
struct FleetFailure: Sendable {
    /// The subject of a failure. A later success of the same subject ends it.
    enum Subject: Sendable, Equatable {
        case activation(ExactString)
        /// Of the client at this place.
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
