/// A decision with an unknown outcome.
public struct OpenDecision: Sendable, Hashable {
    /// The intended decision.
    public let intent: DecisionIntent
    /// The number of the counter move that its signature consumed.
    public let moves: UInt64
    /// The tag of the write that moved the counter; `nil` if the store has none.
    package let tag: WriteTag?
    /// The latest outcome; `nil` before any response.
    package var result: DecisionOutcome.Result?

    /// Creates an open decision.
    public init(_ intent: DecisionIntent, moves: UInt64) { self.init(intent, moves: moves, tag: nil) }

    package init(_ intent: DecisionIntent, moves: UInt64, tag: WriteTag?, _ result: DecisionOutcome.Result? = nil) {
        self.intent = intent
        self.moves = moves
        self.tag = tag
        self.result = result
    }

    package init(_ intent: DecisionIntent, _ receipt: DecisionReceipt) {
        self.init(intent, moves: receipt.intent.moves, tag: receipt.tag, receipt.outcome?.result)
    }

    /// Returns whether both concern the same signature, whatever the results.
    public static func == (one: Self, other: Self) -> Bool {
        one.moves == other.moves && one.tag == other.tag && one.intent == other.intent
    }

    /// Returns whether both have the same signature. A store keeps an intent's dates less precisely than the signing process.
    package func isSame(as other: Self) -> Bool { self.moves == other.moves && self.tag == other.tag }

    /// Hashes the properties that identify the signature.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.moves)
        hasher.combine(self.tag)
        hasher.combine(self.intent)
    }
}
