import DecisionReceipts
public import Foundation

extension ApprovalAgent {
    /// A bound on what is approved in a period, whatever restarts and however many nodes there are.
    ///
    /// ```swift
    /// configuration.limits = [
    ///     .init("payments a day", of: .activation, within: .rolling(.hours(24)), count: 10),
    ///     .init("sum a day", of: .user, within: .day(in: prague), sum: ["CZK": 500, "EUR": 20]),
    ///     .init("per payee", of: .payee, within: .rolling(.hours(24)), sum: ["CZK": 100]),
    /// ]
    /// ```
    ///
    /// An approval is charged in the transaction that moves the activation's counter: one that would pass a limit is not signed,
    /// and the operation is left to people with ``LeaveReason/limitReached(_:)``. Charges are taken back only when the server
    /// refused, or the decision provably came to nothing. What is charged is computed from the signed data: an amount that
    /// cannot be read, or in a currency that the limit does not name, is over the limit.
    ///
    /// All limits of one scope and currency share what was charged. So a limit that is renamed, or gets another number or
    /// window, counts earlier approvals.
    public struct Limit: Sendable, Hashable {
        /// The approvals that a limit counts together.
        public enum Scope: String, Sendable, Hashable, CaseIterable {
            /// The approvals of one activation.
            case activation
            /// The approvals of one user; see ``Configuration/userID``.
            case user
            /// The approvals that pay to one account, in any spelling.
            case payee
            /// The approvals of operations with one ``UserOperation/name``.
            case template
            /// All approvals with activations of the store.
            case fleet
        }

        /// The period over which a limit counts.
        public struct Window: Sendable, Hashable {
            let period: LimitWindow?

            /// Returns the last minutes, hours or days, by the server's time where it is known.
            ///
            /// - Parameter span: One minute to 31 days. A part of a minute counts as a whole one.
            public static func rolling(_ span: Span) -> Self { Self(period: LimitWindow(rolling: span.duration)) }

            /// Returns the last part of time, by the server's time where it is known.
            ///
            /// - Parameter duration: One minute to 31 days. A part of a minute counts as a whole one.
            public static func rolling(_ duration: Duration) -> Self { Self(period: LimitWindow(rolling: duration)) }

            /// Returns the calendar day of a time zone, which has 23 or 25 hours when its clocks change.
            public static func day(in zone: TimeZone) -> Self { Self(period: .day(in: zone)) }
        }

        /// A length of time in the units of limits.
        public struct Span: Sendable, Hashable {
            let duration: Duration

            /// Returns a number of minutes.
            public static func minutes(_ count: Int) -> Self { Self(count, 60) }
            /// Returns a number of hours.
            public static func hours(_ count: Int) -> Self { Self(count, 3_600) }
            /// Returns a number of times 24 hours.
            public static func days(_ count: Int) -> Self { Self(count, 86_400) }

            /// A count beyond any window gives none.
            private init(_ count: Int, _ seconds: Int) {
                self.duration = .seconds(min(max(count, 0), 1_000_000) * seconds)
            }
        }

        /// The name, for people, receipts and metrics.
        public let name: String
        let scope: Scope
        let window: Window
        let count: Int?
        let sum: [String: Decimal]
        let includesPeople: Bool

        /// Creates a limit, which ``ApprovalAgent/run()`` checks.
        ///
        /// - Parameters:
        ///   - name: A name that no other limit of the agent has.
        ///   - scope: The approvals that are counted together.
        ///   - window: The period over which it is counted.
        ///   - count: The maximum number of approvals.
        ///   - sum: The maximum amount in each currency, by its code. Other currencies are over the limit.
        ///   - includingPeople: `true` if decisions by hand with the fleet's or the agent's services are charged and bounded too.
        ///     Default: `false`.
        public init(
            _ name: String,
            of scope: Scope,
            within window: Window,
            count: Int? = nil,
            sum: [String: Decimal] = [:],
            includingPeople: Bool = false
        ) {
            self.name = name
            self.scope = scope
            self.window = window
            self.count = count
            self.sum = sum
            self.includesPeople = includingPeople
        }
    }
}

extension LimitWindow {
    /// Returns the window of a duration; `nil` if it is too short or too long.
    fileprivate init?(rolling duration: Duration) {
        guard duration >= .seconds(60), duration <= .seconds(Self.longest * 60) else { return nil }
        let seconds = duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0)
        self = .rolling(minutes: (seconds + 59) / 60)
    }
}

extension ApprovalAgent.Limit {
    /// Returns what is wrong with limits; `nil` if nothing is.
    static func mistake(in limits: [Self]) -> String? {
        let names = limits.map { Array($0.name.utf8) }
        if limits.count > LimitCharges.maximumCount / 2 { return "limits: more than \(LimitCharges.maximumCount / 2)" }
        if Set(names).count < names.count { return "limits: two have one name" }
        for limit in limits {
            if let mistake = limit.mistake { return "limits: '\(limit.name)' \(mistake)" }
        }
        return nil
    }

    private var mistake: String? {
        if self.name.isEmpty { return "has no name" }
        if self.window.period == nil { return "has a window below one minute or above 31 days" }
        if self.count == nil, self.sum.isEmpty { return "bounds neither a count nor a sum" }
        if let count, count < 0 { return "has a count below zero" }
        for (currency, amount) in self.sum {
            let isCode = currency.utf8.count == 3 && currency.utf8.allSatisfy { 0x41...0x5A ~= $0 }
            if !isCode { return "names a currency that is not three capital letters" }
            if amount.isNaN || amount < 0 { return "has a sum below zero" }
        }
        return nil
    }
}
