extension Duration {
    /// A century, which no process outlives. `Duration` and timers do not overflow when such durations are added, scaled by small
    /// factors, or passed to a clock.
    public static let longest = Duration.seconds(3_155_760_000)

    /// The duration, clamped to ``longest`` in either direction.
    public var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }

    /// The bounded duration in whole seconds, rounded up.
    public var roundedUpSeconds: Int64 {
        let (seconds, attoseconds) = self.bounded.components
        return attoseconds > 0 ? seconds + 1 : seconds
    }

    /// Creates a duration from seconds, clamped to ``longest`` in either direction. NaN gives ``longest``.
    public init(boundedSeconds seconds: Double) {
        let longest = Self.longest.components.seconds
        self = seconds.magnitude < Double(longest) ? .seconds(seconds) : seconds < 0 ? .zero - .longest : .longest
    }
}
