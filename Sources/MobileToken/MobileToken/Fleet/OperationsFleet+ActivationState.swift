import MobileTokenObserving
public import PowerAuthClient

extension OperationsFleet {
    /// The state of one activation of an ``OperationsFleet``.
    ///
    /// An activation that cannot be polled visibly waits or ends; it is never polled in vain and never silently ignored.
    /// ``reason`` explains the state.
    public struct ActivationState: Sendable, CustomStringConvertible {
        /// The name of a state. A struct, so that a new phase breaks no caller's `switch`.
        public struct Phase: Sendable, Hashable, CustomStringConvertible {
            /// The name of the phase.
            public var description: String { self.name.rawValue }
            /// Indicates whether polling has ended: only another activation, or a repaired store, would help.
            public var isEnded: Bool { self.name.isEnded }

            /// Indicates whether the server would refuse every request until the activation is committed or unblocked there. Only its
            /// status is asked for until then.
            var isWaiting: Bool { self.name == .awaitingCommit || self.name == .blocked }

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
            /// Not committed by the server yet. Its status is requested until it is.
            public static let awaitingCommit = Self(name: .awaitingCommit)
            /// Polled. A temporary failure does not change that; ``OperationsFleet/ActivationState/reason`` has the last one.
            public static let active = Self(name: .active)
            /// Blocked by the server. Its status is requested rarely, until an administrator unblocks it.
            public static let blocked = Self(name: .blocked)
            /// Ended: removed at the server or here.
            public static let removed = Self(name: .removed)
            /// Ended: the counters of client and server are too far apart.
            public static let deadlocked = Self(name: .deadlocked)
            /// Ended: the store was restored from an outdated backup.
            public static let rolledBack = Self(name: .rolledBack)
            /// Ended: its data in the store are damaged, or of a newer version of this package.
            public static let unreadable = Self(name: .unreadable)
            /// Ended: no client of the fleet has its application, or the store has another key.
            public static let misconfigured = Self(name: .misconfigured)
        }

        /// The name of the state.
        public let phase: Phase
        /// Boxed, because a fleet has thousands of states, most of them without a reason.
        private let boxedReason: (any Error)?

        /// Creates a state, for tests.
        package init(_ phase: Phase, reason: MobileTokenError? = nil) {
            self.phase = phase
            self.boxedReason = reason
        }

        /// The reason for waiting or ending, or the error of the last attempt.
        public var reason: MobileTokenError? { self.boxedReason as? MobileTokenError }

        /// The phase and the reason, on one line.
        public var description: String { self.reason.map { "\(self.phase): \($0)" } ?? self.phase.description }
    }
}

extension MobileTokenObservation.ActivationState {
    init(_ state: OperationsFleet.ActivationState, of activationID: String) {
        self.init(
            activationID: activationID,
            phase: state.phase.description,
            isEnded: state.phase.isEnded,
            reason: state.reason
        )
    }
}
