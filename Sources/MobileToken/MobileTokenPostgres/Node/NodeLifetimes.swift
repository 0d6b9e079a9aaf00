/// The heartbeat of a node, and the time without one after which other nodes take over.
///
/// Other nodes measure ``death`` by the database's clock. A node limits its own reliance by its monotonic clock; the wall clock
/// does not matter.
public struct NodeLifetimes: Sendable, Equatable {
    /// The time between two heartbeats. Default: 2 s.
    public var heartbeat: Duration
    /// The time without a heartbeat after which others take over. Default: 6 s. A node's signatures must be sent within that
    /// time.
    public var death: Duration

    /// Creates lifetimes, which must be equal for all nodes of a store. `death` is at least two heartbeats and at most a day.
    public init(heartbeat: Duration = .seconds(2), death: Duration = .seconds(6)) {
        self.heartbeat = heartbeat
        self.death = death
    }

    /// Indicates that the values are in range and allow one late heartbeat.
    var areUsable: Bool {
        self.heartbeat > .zero && self.death <= .seconds(86_400) && self.heartbeat <= self.death / 2
    }

    /// The time for which a node relies on a heartbeat, from before its sending. Less than ``death``, because clocks differ in
    /// speed.
    package var reliance: Duration { self.death * 19 / 20 }
}
