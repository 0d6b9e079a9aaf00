extension OperationsService {
    /// Options of polling.
    public struct PollingOptions: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Polls only while a subscriber reads ``OperationsService/changes()`` or ``OperationsService/events()``.
        public static let pauseWhenUnobserved = Self(rawValue: 1)
        /// Starts at a random time in the first interval, so that thousands of services do not poll together.
        public static let spreadStart = Self(rawValue: 2)
    }
}
