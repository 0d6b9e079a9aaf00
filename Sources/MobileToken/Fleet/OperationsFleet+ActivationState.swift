public import PowerAuth

extension OperationsFleet {
    /// The state of one activation of an ``OperationsFleet``.
    ///
    /// A state ends or waits, visibly: nothing is polled on in vain, and nothing falls silent. ``reason`` tells why.
    public struct ActivationState: Sendable, CustomStringConvertible {
        /// The name of a state. A struct, so that a new phase breaks nobody's `switch`.
        public struct Phase: Sendable, Hashable, CustomStringConvertible {
            /// The name of the phase.
            public var description: String { self.name.rawValue }
            /// Indicates whether the activation is not polled any more: only another activation, or a repaired store, would help.
            public var isEnded: Bool { self.name.isEnded }

            /// Indicates whether the server would refuse every request until the activation is committed or unblocked there. Only its
            /// status is asked for until then.
            var isWaiting: Bool { [.awaitingCommit, .blocked].contains(self.name) }

            let name: Name

            enum Name: String {
                case starting, awaitingCommit, active, blocked
                case removed, deadlocked, rolledBack, unreadable, misconfigured

                var isEnded: Bool {
                    switch self {
                    case .starting, .awaitingCommit, .active, .blocked: false
                    case .removed, .deadlocked, .rolledBack, .unreadable, .misconfigured: true
                    }
                }
            }

            /// Not polled successfully yet.
            public static let starting = Self(name: .starting)
            /// The server has not committed the activation. Its status is asked for until it has.
            public static let awaitingCommit = Self(name: .awaitingCommit)
            /// Polled. A failed poll that may pass does not change that; ``OperationsFleet/ActivationState/reason`` shows the last one.
            public static let active = Self(name: .active)
            /// Blocked by the server. Its status is asked for, seldom, until an administrator lifts it.
            public static let blocked = Self(name: .blocked)
            /// Ended: removed at the server or here.
            public static let removed = Self(name: .removed)
            /// Ended: the counters of client and server are too far apart.
            public static let deadlocked = Self(name: .deadlocked)
            /// Ended: the store was restored from a backup that is too old.
            public static let rolledBack = Self(name: .rolledBack)
            /// Ended: what the store holds of it is damaged, or of a newer version of this package.
            public static let unreadable = Self(name: .unreadable)
            /// Ended: it is of an application that no client of the fleet is for, or the store has another key.
            public static let misconfigured = Self(name: .misconfigured)
        }

        /// The name of the state.
        public let phase: Phase
        /// Boxed: a fleet has thousands of states, most of them without a reason.
        private let boxedReason: (any Error)?

        /// Creates a state, for tests of what reads it.
        public init(_ phase: Phase, reason: MobileTokenError? = nil) {
            self.phase = phase
            self.boxedReason = reason
        }

        /// The reason the activation waits or has ended, or the last attempt failed.
        public var reason: MobileTokenError? { self.boxedReason as? MobileTokenError }

        /// The phase and the reason, on one line.
        public var description: String { self.reason.map { "\(self.phase): \($0)" } ?? self.phase.description }
    }
}

extension Observed.ActivationState {
    init(_ state: OperationsFleet.ActivationState, of activationID: String) {
        self.init(
            activationID: activationID,
            phase: state.phase.description,
            isEnded: state.phase.isEnded,
            reason: state.reason
        )
    }
}
