/// The heartbeat by which a node shows that it is alive, and the time for which the others wait before they take its place.
///
/// The others count ``death`` by the database's clock. A node counts its own reliance by its own clock, which never goes back; what time
/// of day it shows does not matter.
public struct NodeLifetimes: Sendable, Equatable {
    /// The time between two renewals of a node's membership: 2 s by default.
    public var heartbeat: Duration
    /// After how long without a heartbeat the others take over: 6 s by default. What a node signs must leave within that time.
    public var death: Duration

    /// Creates lifetimes, which must be the same for all nodes of a store. A death comes after two heartbeats at least, and
    /// within a day.
    public init(heartbeat: Duration = .seconds(2), death: Duration = .seconds(6)) {
        self.heartbeat = heartbeat
        self.death = death
    }

    /// Indicates that a node whose heartbeat is late once is still alive, and that no number is out of bounds.
    var areUsable: Bool {
        self.heartbeat > .zero && self.death <= .seconds(86_400) && self.heartbeat <= self.death / 2
    }

    /// The time for which the node itself relies on a heartbeat, from before it was sent: less than the others wait, since no two
    /// clocks run equally fast.
    package var reliance: Duration { self.death * 19 / 20 }
}
