import DecisionReceipts
public import Foundation

/// A pause of agents' decisions for all activations of a store; see ``MobileTokenClient/pauseDeciding(reason:)``.
public struct DecisionPause: Sendable, Hashable {
    /// The start by the local clock, in whole milliseconds.
    public let date: Date
    /// A reason for people; may be empty.
    public let reason: String

    /// Creates a pause, for example from a store's data.
    package init(date: Date, reason: String) {
        self.date = date.inWholeMilliseconds
        self.reason = reason
    }
}

extension MobileTokenError {
    /// Returns the error of an automatic decision while deciding is paused.
    package static func decidingPaused(_ pause: DecisionPause) -> Self {
        Self(.decidingPaused, "Deciding is paused" + (pause.reason.isEmpty ? "" : ": \(pause.reason)"))
    }
}
