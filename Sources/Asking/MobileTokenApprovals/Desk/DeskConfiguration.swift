import Basics
public import Foundation
public import MobileTokenReceipts

extension ApprovalDesk {
    /// The settings of a desk.
    public struct Configuration: Sendable {
        /// The limits that protect people and the server.
        public struct Limits: Sendable, Hashable {
            /// The maximum number of open questions per person: 3.
            public var openQuestions = 3
            /// The minimum interval between two questions to one person: 10 s.
            public var questionInterval = Duration.seconds(10)
            /// The maximum number of requests to the server in any second: 20.
            public var requestsPerSecond = 20.0
            /// The minimum interval between two polls of one question: 5 s.
            public var shortestPoll = Duration.seconds(5)
            /// The maximum interval between two polls of one question, to which it grows: 60 s.
            public var longestPoll = Duration.seconds(60)

            /// Creates the default limits.
            public init() {}
        }

        /// Returns whether a person may still approve, right before the action; `nil` accepts all.
        public var isEligible: (@Sendable (Approvers.Person) async -> Bool)?
        /// Called with every event, in the task in which it happens.
        public var observer: (@Sendable (ApprovalEvent) -> Void)?
        /// The password of the server's callbacks; `nil` admits none.
        public var callbackPassword: String? {
            get { self.maskedPassword.value }
            set { self.maskedPassword.value = newValue }
        }
        private var maskedPassword = Masked<String?>(nil)
        /// The archive for a receipt of every completed question, while ``ApprovalDesk/run()`` runs; `nil` writes none.
        public var receipts: ReceiptArchive?
        /// The limits that protect people and the server.
        public var limits = Limits()
        /// The clock for waits. It must continue while the machine sleeps.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Returns the time of day.
        package var now: @Sendable () -> Date = { Date() }
        /// Called with the template of every operation before it is created: servers of tests make it.
        package var willAsk: (@Sendable (ApprovalTemplate) -> Void)?

        /// Creates the default settings.
        public init() {}
    }

    /// The known state of a desk, for monitoring.
    public struct Health: Sendable, Hashable {
        /// The number of open questions.
        public let open: Int
        /// The number of actions with an unknown outcome: see ``ApprovalDesk/settle(id:as:by:)``.
        public let unknown: Int
        /// The number of unreadable rows found in the ledger: damaged, missing, or replaced by an earlier version.
        public let unreadable: Int
        /// The time of the oldest last poll among open questions; `nil` if none is open.
        public let oldestAnswer: Date?
        /// The server clock's lead over this one; `nil` before its first response.
        public let clockSkew: Duration?
        /// The last error of the server or the ledger.
        public let lastError: String?
    }
}
