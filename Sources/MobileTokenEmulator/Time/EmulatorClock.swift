public import Foundation

extension Emulator {
    /// The server's clock. Expiry, token windows, one-time codes and temporary keys all follow it.
    public var clock: Clock { Clock(core: self.core) }

    /// The faults that are made on purpose.
    public var faults: Faults { Faults(core: self.core) }

    /// The server's time: the machine's at first. It shows the years 1 to 9998; what would lead beyond does nothing.
    public struct Clock: Sendable {
        let core: EmulatorCore

        /// The time of the server.
        public var now: Date { get async { await self.core.now } }

        /// Indicates whether the clock is frozen until it is moved.
        public var isManual: Bool { get async { await self.core.timeMode == .manual } }

        /// Freezes the clock at a time, the present one by default, until it is moved.
        public func freeze(at date: Date? = nil) async {
            await self.core.changeTime { $0.freeze(at: date ?? $0.now()) }
        }

        /// Moves the clock, back when `duration` is negative; a running clock runs on from there.
        public func advance(by duration: Duration) async {
            await self.core.changeTime { $0.advance(bySeconds: duration / .seconds(1)) }
        }

        /// Resumes from a time, or from the machine's time by default.
        public func resume(from date: Date? = nil) async {
            await self.core.changeTime { $0.resume(from: date) }
        }
    }

    /// The fault rules, in their order: the first that strikes a request is applied.
    public struct Faults: Sendable {
        let core: EmulatorCore

        /// The rules in their order.
        public var rules: [FaultRule] { get async { await self.core.faultRules } }

        /// The requests that each rule has met since it was set, in the order of the rules.
        public var counts: [FaultRule.Count] { get async { await self.core.faults.counts } }

        /// Replaces all rules; their counts start anew.
        public func set(_ rules: [FaultRule]) async { await self.core.setFaults(rules) }

        /// Adds a rule after the others.
        public func add(_ rule: FaultRule) async { await self.core.addFault(rule) }

        /// Removes all rules of this name, which several may share; the counts of the others go on.
        public func remove(named name: String) async { await self.core.removeFaults(named: name) }

        /// No more faults.
        public func removeAll() async { await self.core.setFaults([]) }
    }
}
