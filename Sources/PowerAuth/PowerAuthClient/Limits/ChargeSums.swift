import Basics
package import DecisionReceipts

/// The use of limits as a value: for each key, what was charged up to each minute.
///
/// A window's use is the difference of two sums, so neither its length nor the number of decisions makes it slower. Charges are
/// never before the latest one: a clock that is set back takes nothing out of a window.
package struct ChargeSums: Sendable, Equatable {
    /// A key's sums up to and including a minute.
    package struct Sum: Sendable, Equatable {
        package var minute: Int64
        package var agents: Int64
        package var people: Int64

        fileprivate mutating func add(_ entry: LimitCharges.Entry, isTakenBack: Bool = false) {
            let (agents, people) = isTakenBack ? (-entry.agents, -entry.people) : (entry.agents, entry.people)
            self.agents = self.agents.addingSaturated(agents)
            self.people = self.people.addingSaturated(people)
        }
    }

    private var sums: [String: [Sum]] = [:]
    /// The minute of the first decision after a restore of the store: charges from before it may be missing.
    package var closure: Int64?
    /// The closure between the restore and that decision.
    package static let undatedClosure = Int64.max

    package init() {}

    /// Returns what the window of a check holds.
    package func used(_ check: LimitCharges.Check) -> Int64 {
        self.used(key: check.demand.key, since: check.first, includesPeople: check.demand.includesPeople)
    }

    func used(key: String, since first: Int64, includesPeople: Bool) -> Int64 {
        let sums = self.sums[key] ?? []
        func total(_ sum: Sum?) -> Int64 {
            guard let sum else { return 0 }
            return includesPeople ? sum.agents.addingSaturated(sum.people) : sum.agents
        }
        return total(sums.last).subtractingSaturated(total(sums.last { $0.minute < first }))
    }

    /// The number of sums, of all keys.
    var count: Int { self.sums.values.reduce(0) { $0 + $1.count } }

    /// Returns the first limit that the charges would pass.
    package func limit(passedBy charges: LimitCharges) -> String? {
        charges.limit(passedAt: charges.checks.map(self.used), self.closure)
    }

    package mutating func charge(_ entries: [LimitCharges.Entry]) {
        for entry in entries {
            var sum = self.sums[entry.key]?.last ?? Sum(minute: 0, agents: 0, people: 0)
            let isSame = sum.minute >= entry.minute && self.sums[entry.key] != nil
            sum.minute = max(sum.minute, entry.minute)
            sum.add(entry)
            if isSame { self.sums[entry.key]?.removeLast() }
            self.sums[entry.key, default: []].append(sum)
            self.forget(before: entry.minute - Self.lifetime, key: entry.key)
        }
    }

    /// Takes charges back, or makes them again.
    package mutating func release(_ entries: [LimitCharges.Entry], isUndone: Bool = false) {
        for entry in entries {
            for index in (self.sums[entry.key] ?? []).indices
            where self.sums[entry.key]?[index].minute ?? 0 >= entry.minute {
                self.sums[entry.key]?[index].add(entry, isTakenBack: !isUndone)
            }
        }
    }

    /// The time in minutes after which a sum is forgotten, if a later one is as old.
    package static let lifetime = LimitWindow.longest + 24 * 60

    private mutating func forget(before minute: Int64, key: String) {
        guard let last = self.sums[key]?.lastIndex(where: { $0.minute < minute }), last > 0 else { return }
        self.sums[key]?.removeFirst(last)
    }
}
