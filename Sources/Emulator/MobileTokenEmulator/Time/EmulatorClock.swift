public import Foundation

extension Emulator {
    /// The server's clock, which determines expiry, token windows, one-time codes and temporary keys.
    public var clock: Clock { Clock(core: self.core) }

    /// The deliberate faults.
    public var faults: Faults { Faults(core: self.core) }

    /// The server's time, initially the machine's. It covers the years 1970 to 9998; a change beyond has no effect.
    public struct Clock: Sendable {
        let core: EmulatorCore

        /// The server's current time.
        public var now: Date { get async { await self.core.now } }

        /// Indicates whether the clock is frozen until it is moved.
        public var isManual: Bool { get async { await self.core.timeMode == .manual } }

        /// Freezes the clock at a time, by default the current one, until it is moved.
        public func freeze(at date: Date? = nil) async {
            await self.core.changeTime { $0.freeze(at: date ?? $0.now()) }
        }

        /// Moves the clock, backwards if `duration` is negative; a running clock continues from there.
        public func advance(by duration: Duration) async {
            await self.core.changeTime { $0.advance(bySeconds: duration / .seconds(1)) }
        }

        /// Runs the clock from a time, or from the machine's time by default.
        public func resume(from date: Date? = nil) async {
            await self.core.changeTime { $0.resume(from: date) }
        }
    }

    /// The fault rules in order; the first matching rule is applied to a request.
    public struct Faults: Sendable {
        let core: EmulatorCore

        /// The rules in order.
        public var rules: [FaultRule] { get async { await self.core.faultRules } }

        /// The requests matched by each rule since it was set, in the order of the rules.
        public var counts: [FaultRule.Count] { get async { await self.core.faultCounts } }

        /// Replaces all rules and resets their counts.
        public func set(_ rules: [FaultRule]) async { await self.core.setFaults(rules) }

        /// Appends a rule.
        public func add(_ rule: FaultRule) async { await self.core.addFaults([rule]) }

        /// Executes in order the requests postponed by rules of this name, or by all rules; returns when that is done.
        public func release(named name: String? = nil) async { await self.core.releaseFaults(named: name) }

        /// Removes all rules of this name, and executes the requests they postponed. The other rules' counts continue.
        public func remove(named name: String) async { await self.core.removeFaults(named: name) }

        /// Removes all rules.
        public func removeAll() async { await self.core.setFaults([]) }
    }
}
