extension Duration {
    /// A century. No process runs for as long, so a longer wait is the same wait.
    ///
    /// Anything the SDK does with two durations up to this one (adding, scaling by a small factor, handing them to a
    /// clock) is far from where `Duration` and the system's timers trap.
    package static let longest = Duration.seconds(3_155_760_000)

    /// The duration, or the nearest that is no longer than ``longest`` in either direction.
    package var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }

    /// Creates a bounded duration from any number of seconds. NaN gives ``longest``: nobody knows when that is over.
    package init(boundedSeconds seconds: Double) {
        let longest = Self.longest.components.seconds
        self = seconds.magnitude < Double(longest) ? .seconds(seconds) : seconds < 0 ? .zero - .longest : .longest
    }
}
