/// An intent whose fate is not known.
public struct OpenDecision: Sendable, Hashable {
    /// The decision that was to be made.
    public let intent: DecisionIntent
    /// The number of the counter's move that its signature used up.
    public let moves: UInt64
    /// The tag of the write that made the move; `nil` where the store gives none.
    package let tag: WriteTag?

    /// Creates an open decision.
    public init(_ intent: DecisionIntent, moves: UInt64) { self.init(intent, moves: moves, tag: nil) }

    package init(_ intent: DecisionIntent, moves: UInt64, tag: WriteTag?) {
        self.intent = intent
        self.moves = moves
        self.tag = tag
    }
}
