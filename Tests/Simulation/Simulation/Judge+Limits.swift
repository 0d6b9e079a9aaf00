import MobileToken
import PowerAuth

/// The approvals of agents, which a limit bounds: so many of each activation in a minute.
struct JudgedLimit {
    /// The length of the window, less what two nodes' estimates of the bank's time may differ by.
    private static let window: Int64 = 50_000_000_000
    /// The time for which a charge may fill the window, whose minutes leave it as a whole.
    private static let longestUse: Int64 = 130_000_000_000

    /// `nil` without a limit.
    var allowed: Int?
    /// When the latest epoch began: a restore or a promotion closes the limits, from the first decision that they then refuse.
    var closed: Int64?
    private var saidClosed: Int64?
    /// The commits of approvals, by activation.
    private var commits: [String: [(time: Int64, signature: Judge.Signature)]] = [:]
    /// The commits of those that the bank carried out.
    private var carriedOut: [String: [Int64]] = [:]

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

    mutating func committed(_ signature: Judge.Signature, at time: Int64) {
        self.commits[signature.activationID, default: []].append((time, signature))
    }

    /// Notes an approval in the bank's books.
    ///
    /// - Returns: `false` if a window has more than the limit allows.
    mutating func approved(_ activationID: String, committedAt time: Int64) -> Bool {
        guard let allowed else { return true }
        let times = (self.carriedOut[activationID, default: []] + [time]).sorted()
        self.carriedOut[activationID] = times
        return zip(times, times.dropFirst(allowed)).allSatisfy { $1 - $0 >= Self.window }
    }

    /// Returns whether decisions that may have been carried out fill an activation's window.
    func isReached(by activationID: String, at now: Int64, isNothing: (Judge.Signature) -> Bool) -> Bool {
        guard let allowed else { return false }
        return (self.commits[activationID] ?? []).count { commit in
            now - commit.time <= Self.longestUse && !isNothing(commit.signature)
        } >= allowed
    }
}

extension Judge {
    /// An agent leaves an operation because of the limit.
    mutating func heardOfLimit(_ event: ApprovalAgent.Event, at now: Int64) {
        let isReached = self.limit.isReached(by: event.activationID, at: now) { signature in
            self.outcomes[signature].map { $0.name == "refused" || $0 == .notFollowed } ?? false
        }
        if !self.limit.isClosed(at: now), !isReached, self.floors.isEmpty {
            self.fail("\(self.name(of: event.operation?.id)) is over the limit, says an agent, and it is not")
        }
        if let id = event.operation?.id { self.excused.insert(id) }
    }
}
