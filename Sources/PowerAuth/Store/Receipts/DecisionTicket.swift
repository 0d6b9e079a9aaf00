import Synchronization

/// Carries an intent along with a request, from the service that decides down to the counter, and tells the service
/// afterwards which move of the counter its signature used up.
///
/// Needed when no response came: that number is what the server's counter is compared with.
package final class DecisionTicket: Sendable {
    /// What is decided.
    package let intent: DecisionIntent
    /// Returns whether the body of a response says that the decision was carried out.
    package let isSuccess: @Sendable ([UInt8]) -> Bool
    private let move = Mutex<UInt64?>(nil)

    package init(_ intent: DecisionIntent, isSuccess: @escaping @Sendable ([UInt8]) -> Bool) {
        self.intent = intent
        self.isSuccess = isSuccess
    }

    /// The counter's moves as the latest signature left them; `nil` when nothing was signed.
    package var lastMove: UInt64? { self.move.withLock { $0 } }

    func signed(byMove moves: UInt64) { self.move.withLock { $0 = moves } }
}
