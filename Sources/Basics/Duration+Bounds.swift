extension Duration {
    /// A century. No process runs that long, so a longer wait makes no difference.
    ///
    /// Anything the SDK does with two durations up to this one (adding, scaling by a small factor, handing them to a
    /// clock) is far from where `Duration` and the system's timers trap.
    public static let longest = Duration.seconds(3_155_760_000)

    /// The duration, limited to ``longest`` in either direction.
    public var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }

    /// The duration in whole seconds, rounded up and ``bounded``: a wait by it is never too short.
    public var roundedUpSeconds: Int64 {
        let (seconds, attoseconds) = self.bounded.components
        return attoseconds > 0 ? seconds + 1 : seconds
    }

    /// Creates a duration from any number of seconds, limited to ``longest`` in either direction. NaN gives ``longest``.
    public init(boundedSeconds seconds: Double) {
        let longest = Self.longest.components.seconds
        self = seconds.magnitude < Double(longest) ? .seconds(seconds) : seconds < 0 ? .zero - .longest : .longest
    }
}
