import MobileToken
import PowerAuth

/// The approvals of agents, which a limit bounds: so many of each activation in a minute, or so much money.
struct JudgedLimit {
    /// The length of the window, less what two nodes' estimates of the bank's time may differ by.
    private static let window: Int64 = 50_000_000_000
    /// The time for which a charge may fill the window, whose minutes leave it as a whole.
    private static let longestUse: Int64 = 130_000_000_000

    private struct Approval {
        let time: Int64
        let amount: Int
        var signature: Judge.Signature?
    }

    /// The number of approvals, or the sum in hundredths; `nil` without a limit.
    private let allowed: Int?
    private let boundsSums: Bool
    /// When the latest epoch began: a restore or a promotion closes the limits, from the first decision that they then refuse.
    private var closed: Int64?
    private var saidClosed: Int64?
    /// The commits of approvals, by activation.
    private var commits: [String: [Approval]] = [:]
    /// The commits of those that the bank carried out.
    private var carriedOut: [String: [Approval]] = [:]

    init(_ plan: Plan) {
        self.boundsSums = plan.sumAllowed != nil
        self.allowed = plan.sumAllowed.map { $0 * 100 } ?? plan.approvalsAllowed
    }

    /// Returns what an approval of signed data takes.
    private func amount(of data: String) -> Int {
        guard self.boundsSums else { return 1 }
        let amounts = data.split(separator: "*").dropFirst().filter { $0.hasPrefix("A") && $0.hasSuffix("CZK") }
        return amounts.map { Int((Double($0.dropFirst().dropLast(3)) ?? 0) * 100 + 0.5) }.reduce(0, +)
    }

    /// Notes when the latest epoch began; `nil` for the first one.
    mutating func close(at time: Int64?) {
        if time != self.closed { (self.closed, self.saidClosed) = (time, nil) }
    }

    /// Returns whether the limits may be closed, as an agent says.
    mutating func isClosed(at now: Int64) -> Bool {
        guard self.closed != nil else { return false }
        self.saidClosed = self.saidClosed ?? now
        return now - (self.saidClosed ?? now) <= Self.longestUse
    }

    mutating func committed(_ signature: Judge.Signature, _ data: String, at time: Int64) {
        let approval = Approval(time: time, amount: self.amount(of: data), signature: signature)
        self.commits[signature.activationID, default: []].append(approval)
    }

    /// Notes an approval in the bank's books.
    ///
    /// - Returns: `false` if a window has more than the limit allows.
    mutating func approved(_ activationID: String, _ data: String, committedAt time: Int64) -> Bool {
        guard let allowed else { return true }
        let approval = Approval(time: time, amount: self.amount(of: data))
        let all = (self.carriedOut[activationID, default: []] + [approval]).sorted { $0.time < $1.time }
        self.carriedOut[activationID] = all
        return all.indices.allSatisfy { first in
            all[first...].prefix { $0.time - all[first].time < Self.window }.map(\.amount).reduce(0, +) <= allowed
        }
    }

    /// Returns whether one more approval of these data passes the limit, with those that may have been carried out.
    func isReached(by activationID: String, _ data: String, at now: Int64, isNothing: (Judge.Signature) -> Bool) -> Bool
    {
        guard let allowed else { return false }
        let used = (self.commits[activationID] ?? []).filter { commit in
            now - commit.time <= Self.longestUse && !(commit.signature.map(isNothing) ?? false)
        }
        return used.map(\.amount).reduce(0, +) + self.amount(of: data) > allowed
    }
}

extension Judge {
    /// An agent leaves an operation because of the limit.
    mutating func heardOfLimit(_ event: ApprovalAgent.Event, at now: Int64) {
        let data = event.operation?.data ?? ""
        let isReached = self.limit.isReached(by: event.activationID, data, at: now) { signature in
            self.outcomes[signature].map { $0.name == "refused" || $0 == .notFollowed } ?? false
        }
        if !self.limit.isClosed(at: now), !isReached, self.floors.isEmpty {
            self.fail("\(self.name(of: event.operation?.id)) is over the limit, says an agent, and it is not")
        }
        if let id = event.operation?.id { self.excused.insert(id) }
    }
}
