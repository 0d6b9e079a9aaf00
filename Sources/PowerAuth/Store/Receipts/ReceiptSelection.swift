import Basics
public import Foundation

/// A selection of receipts, to erase the personal data of.
public struct ReceiptSelection: Sendable, Hashable {
    /// Those of this activation; `nil` is any.
    public let activationID: String?
    /// Those decided before this moment, by the local clock; `nil` is any time.
    public let decidedBefore: Date?

    /// Selects the receipts of one activation, which need not be in the store any more.
    public static func activation(_ id: String) -> Self { Self(activationID: id, decidedBefore: nil) }

    /// Selects the receipts of decisions before a moment.
    public static func decided(before date: Date) -> Self { Self(activationID: nil, decidedBefore: date) }

    /// Returns whether these are personal data to be erased.
    package func selects(_ intent: DecisionReceipt.Intent) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.localDate)
    }

    /// Returns whether these are personal data to be erased.
    func selects(_ intent: SealedReceipt) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.date)
    }

    private func selects(_ activationID: String, _ date: Date) -> Bool {
        (self.activationID.map { activationID.isExactly($0) } ?? true) && (self.decidedBefore.map { date < $0 } ?? true)
    }
}
