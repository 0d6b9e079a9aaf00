public import Foundation

/// A stop to what agents decide with the activations of a store, in every process that shares it.
///
/// See ``MobileTokenClient/pauseDeciding(reason:)``.
public struct DecisionPause: Sendable, Hashable {
    /// The time when it began, by the local clock, in whole milliseconds.
    public let date: Date
    /// The reason, for people; may be empty.
    public let reason: String

    /// Creates a pause, such as from what a store kept.
    public init(date: Date, reason: String) {
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
