/// The distance between the counters of client and server, and its consequence.
///
/// The server tries N counter values, starting at its own. The window N is 20 by default:
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
/// A signature refused because the server is ahead still moves the client one step closer. The comparison follows it.
public struct CounterComparison: Sendable, Hashable {
    /// The consequence of the distance.
    public enum Result: Sendable, Hashable {
        /// Signatures are accepted. The client may be ahead by up to half the window.
        case inSync
        /// The server was ahead, and the client has moved its counter forward by this many steps.
        case movedForward(Int)
        /// The client is ahead by more than half the window and should make a signature to let the server catch up.
        case signatureRecommended
        /// No signature can be accepted any more: replace the activation.
        case deadlock
        /// The server has seen too many signatures that this state never made: the store was restored from an old backup.
        /// Replace the activation.
        case rolledBack
    }

    /// The consequence of the distance.
    public let result: Result
    /// The steps by which the client was ahead (positive) or behind (negative). After an irreparable result, only an estimate
    /// from the counters' lowest bytes.
    public let distance: Int
    /// The number of counter values that the server searches.
    public let window: Int

    package init(result: Result, distance: Int, window: Int) {
        self.result = result
        self.distance = distance
        self.window = window
    }

    /// Indicates that the server has followed the latest signature.
    package var isFollowed: Bool { self.result == .inSync && self.distance == 0 }

    /// Indicates that signatures are accepted, after an automatic repair if needed.
    public var canSign: Bool {
        switch self.result {
        case .inSync, .movedForward, .signatureRecommended: true
        case .deadlock, .rolledBack: false
        }
    }
}
