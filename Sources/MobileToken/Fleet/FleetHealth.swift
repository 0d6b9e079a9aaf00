import Basics
public import PowerAuth

/// How a fleet is doing: a value to answer a health check with.
public struct FleetHealth: Sendable {
    /// An error, and when and where it happened.
    public struct Failure: Sendable {
        /// The activation that it happened to; `nil` when it concerns the store or the membership.
        public let activationID: String?
        /// What happened.
        public let error: MobileTokenError
        /// How long ago it happened.
        public let age: Duration
        /// Whether the same has succeeded since: a poll or a status of the activation, a look into the store.
        public let isOver: Bool

        /// Creates a failure, for tests of what shows it.
        public init(activationID: String?, error: MobileTokenError, age: Duration, isOver: Bool = false) {
            self.activationID = activationID
            self.error = error
            self.age = age
            self.isOver = isOver
        }
    }

    /// How many of the activations that this process polls are in each phase. Phases without any are left out.
    public var counts: [FleetActivationState.Phase: Int] = [:]
    /// How many activations of the store another process polls.
    public var elsewhereCount = 0
    /// How long ago that active activation was polled successfully whose last success is the oldest; `nil` without any.
    public var oldestSuccessfulPoll: Duration?
    /// For each server by how much the local clock is ahead of its (positive) or behind it (negative), once known.
    public var clockSkews: [String: Duration] = [:]
    /// The skew from which on ``isClockSkewed`` warns.
    public var clockSkewThreshold: Duration = .seconds(30)
    /// For how long polls of a server are held back, for those of which they are: failures, or `Retry-After`.
    public var heldBack: [String: Duration] = [:]
    /// What failed last, if anything has, and whether that is over.
    public var lastFailure: Failure?
    /// How many decisions are under way.
    public var decisionsInFlight = 0
    /// How many decisions were sent of which nobody knows what became.
    public var decisionsUnknown = 0
    /// Whether ``OperationsFleet/run()`` is running.
    public var isRunning = false

    /// Creates the health of a fleet that does not run, for tests of what shows it.
    public init() {}

    /// The greatest skew of ``clockSkews``, in either direction.
    public var clockSkew: Duration { self.clockSkews.values.map { $0 < .zero ? .zero - $0 : $0 }.max() ?? .zero }
    /// Whether a clock is off by more than the threshold: the local one or a server's.
    public var isClockSkewed: Bool { self.clockSkew > self.clockSkewThreshold }
    /// How many activations this process polls, ended ones included.
    public var count: Int { self.counts.values.reduce(0, +) }
}

/// What failed last, where, and when.
struct FleetFailure: Sendable {
    /// What a later success has to be of to end it.
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

    func seen(at now: Duration) -> FleetHealth.Failure {
        let id: String? = if case .activation(let id) = self.subject { id.string } else { nil }
        return FleetHealth.Failure(activationID: id, error: self.error, age: now - self.time, isOver: self.isOver)
    }
}
