import Coordination
public import Foundation
public import MobileTokenReceipts

extension ApprovalDesk {
    /// The settings of a desk.
    public struct Configuration: Sendable {
        /// The limits that keep people and the server from being bothered.
        public struct Limits: Sendable, Hashable {
            /// The number of questions that a person may have open: 3.
            public var openQuestions = 3
            /// The time between two questions to one person: 10 s.
            public var questionInterval = Duration.seconds(10)
            /// The number of requests to the server in any second, all in all: 20.
            public var requestsPerSecond = 20.0
            /// The shortest time between two looks at one question: 5 s.
            public var shortestPoll = Duration.seconds(5)
            /// The longest time between two looks at one question, to which it grows: 60 s.
            public var longestPoll = Duration.seconds(60)

            /// Creates the limits.
            public init() {}
        }

        /// Tells whether a person may still approve, asked right before the action; `nil` when everybody may who was asked.
        public var isEligible: (@Sendable (Person) async -> Bool)?
        /// Gets every event, in the task in which it happens.
        public var observer: (@Sendable (ApprovalEvent) -> Void)?
        /// The password by which the server's callbacks are known; `nil` admits none.
        public var callbackPassword: String?
        /// The files that get a receipt of every question, once it has come to its end and as long as ``ApprovalDesk/run()`` runs; `nil`
        /// writes none.
        public var receipts: ReceiptArchive?
        /// The limits that keep people and the server from being bothered.
        public var limits = Limits()
        /// The clock of waits. It must count the time during which the machine sleeps.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The time of day.
        package var now: @Sendable () -> Date = { Date() }

        /// Creates the settings.
        public init() {}
    }

    /// The state of a desk, for a page of figures.
    public struct Health: Sendable, Hashable {
        /// The number of questions that wait for an answer.
        public let open: Int
        /// The number of actions of which nobody knows the end: see ``ApprovalDesk/settle(id:as:by:)``.
        public let unknown: Int
        /// The number of rows of the ledger that cannot be read, as far as they were found: damaged, missing, or earlier ones put back.
        public let unreadable: Int
        /// The time when the question that was looked at longest ago was looked at; `nil` when none is open.
        public let oldestAnswer: Date?
        /// The time by which the server's clock is ahead of this one; `nil` before its first answer.
        public let clockSkew: Duration?
        /// The last failure, of the server or the ledger.
        public let lastError: String?
    }
}
