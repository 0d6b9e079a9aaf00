extension ActivationStatus {
    /// The distance between the counters of client and server, and its consequence.
    ///
    /// The server tries its own counter and those after it, as many as its window N in all (20 unless told otherwise):
    ///
    /// | side ahead | by | result | signatures |
    /// |---|---|---|---|
    /// | the server | 1 to N−1 | ``Result/movedForward(_:)`` | are accepted |
    /// | the server | N or more | ``Result/rolledBack`` | throw `stateRolledBack` |
    /// | the client | 0 to N/2 | ``Result/inSync`` | are accepted |
    /// | the client | up to N−1 | ``Result/signatureRecommended`` | are accepted, after one that lets the server catch up |
    /// | the client | N | ``Result/signatureRecommended``, which servers refuse; then ``Result/deadlock`` | throw `deadlock` |
    /// | the client | more than N | ``Result/deadlock`` | throw `deadlock` |
    /// | unknown | hash and byte contradict each other | ``Result/deadlock`` | throw `deadlock` |
    ///
    /// A signature that is made without asking first, and refused because the server is ahead, has itself brought the client
    /// one step closer; the comparison follows it.
    public struct CounterComparison: Sendable, Hashable {
        /// The consequence of the distance.
        public enum Result: Sendable, Hashable {
            /// Signatures are accepted; the client may be ahead by up to half the window.
            case inSync
            /// The server was ahead. The client has moved its counter forward by so many steps.
            case movedForward(Int)
            /// The client is ahead by more than half the window, so it makes a signature that lets the server catch up.
            case signatureRecommended
            /// No signature can be accepted any more: the activation must be replaced.
            case deadlock
            /// The server has seen too many signatures that this state never made: the store was restored from an old backup.
            /// The activation must be replaced.
            case rolledBack
        }

        /// The consequence of the distance.
        public let result: Result
        /// Steps by which the client was ahead of the server (positive) or behind it (negative). When nothing can be repaired,
        /// only what the lowest byte of both counters suggests.
        public let distance: Int
        /// The distance within which the server searches for a signature's counter.
        public let window: Int

        package init(result: Result, distance: Int, window: Int) {
            self.result = result
            self.distance = distance
            self.window = window
        }

        /// Indicates that signatures are accepted, if need be after a repair that is made without asking.
        public var canSign: Bool {
            switch self.result {
            case .inSync, .movedForward, .signatureRecommended: true
            case .deadlock, .rolledBack: false
            }
        }
    }
}
