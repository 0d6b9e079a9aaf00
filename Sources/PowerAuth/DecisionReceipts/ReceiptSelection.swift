import Basics
public import Foundation

/// Selects receipts for erasing their personal data.
public struct ReceiptSelection: Sendable, Hashable {
    /// The activation; `nil` for any.
    public let activationID: String?
    /// Selects decisions before this time by the local clock; `nil` for any time.
    public let decidedBefore: Date?

    /// Selects the receipts of one activation, which may have been removed.
    public static func activation(_ id: String) -> Self { Self(activationID: id, decidedBefore: nil) }

    /// Selects the receipts of decisions before a date.
    public static func decided(before date: Date) -> Self { Self(activationID: nil, decidedBefore: date) }

    /// Returns whether the intent is selected and has personal data.
    package func selects(_ intent: DecisionReceipt.Intent) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.localDate)
    }

    package func selects(_ activationID: String, _ date: Date) -> Bool {
        (self.activationID.map { activationID.isExactly($0) } ?? true) && (self.decidedBefore.map { date < $0 } ?? true)
    }
}
