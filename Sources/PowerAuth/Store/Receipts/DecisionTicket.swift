import Synchronization

/// Carries an intent along with a request, from the service that decides down to the counter, and tells the service
/// afterwards which move of the counter its signature used up, and what became of it.
///
/// Needed when no response came: that number is what the server's counter is compared with.
package final class DecisionTicket: Sendable {
    /// The verdict.
    package let intent: DecisionIntent
    /// Returns whether the body of a response says that the decision was carried out.
    package let isSuccess: @Sendable ([UInt8]) -> Bool
    private let latest = Mutex<(move: UInt64, result: DecisionOutcome.Result?)?>(nil)

    package init(_ intent: DecisionIntent, isSuccess: @escaping @Sendable ([UInt8]) -> Bool) {
        self.intent = intent
        self.isSuccess = isSuccess
    }

    /// The counter's moves as the latest signature left them; `nil` when nothing was signed.
    package var lastMove: UInt64? { self.latest.withLock { $0?.move } }
    /// The result of the latest signature; `nil` as long as it is on its way.
    package var result: DecisionOutcome.Result? { self.latest.withLock { $0?.result } }

    func signed(byMove moves: UInt64) { self.latest.withLock { $0 = (moves, nil) } }
    func ended(_ result: DecisionOutcome.Result) { self.latest.withLock { $0?.result = result } }
}
