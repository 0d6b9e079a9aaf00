import Basics
public import Foundation

/// A question that was asked.
public struct ApprovalTicket: Sendable, Identifiable {
    /// The name of the question.
    public let id: String
    /// The letters on the phone that identify this question (`7KQ4-M2XW`). With several people, the first one's.
    public let fingerprint: String
    /// The letters on each person's phone, by the person's identifier.
    public let fingerprints: [String: String]
    /// The deadline for a decision, as far as the server has reported it.
    public let expires: Date
    /// The time of the question.
    public let asked: Date
    /// The state at the ticket's creation.
    public let state: ApprovalState
    /// The reason for its end; `nil` while it is open, or if it ended well.
    public let reason: String?
    /// The outcome reported by a person, with the person; `nil` unless the question was `unknown`.
    public let settlement: (outcome: Settlement, person: String, date: Date)?
    let desk: ApprovalDesk
    let key: LedgerKey

    init(_ record: QuestionRecord, desk: ApprovalDesk) {
        self.id = record.terms.id
        self.fingerprint = record.fingerprint
        let pairs = record.parts.indices.map { index in
            (record.parts[index].person.id, (try? record.binding(index).fingerprint) ?? "")
        }
        self.fingerprints = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        self.expires = Date(milliseconds: record.ends)
        self.asked = Date(milliseconds: record.asked)
        self.state = record.state
        self.reason = record.reason?.message
        self.settlement = record.settled.map { ($0.outcome, $0.person, Date(milliseconds: $0.at)) }
        self.desk = desk
        self.key = record.key
    }

    /// Waits for the end of the question, and returns it. It is no permission to act.
    ///
    /// - Throws: ``ApprovalError`` if the ledger fails, and `CancellationError`; the question stays open then.
    public func decision() async throws -> Decision { try await self.desk.core.decided(self.key).record.decision }

    /// Withdraws the question, unless its action has begun. The desk repeats this to the server until the server confirms the
    /// end.
    ///
    /// - Throws: ``ApprovalError/Code/alreadyPerformed``, or errors of the ledger.
    public func withdraw(reason: String = "withdrawn") async throws {
        try await self.desk.core.withdraw(self.key, reason: reason)
    }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    var milliseconds: Int64 { Int64(saturating: (self.timeIntervalSince1970 * 1_000).rounded()) }
}
