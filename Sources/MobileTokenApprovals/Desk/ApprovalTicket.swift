import Basics
public import Foundation

/// A question that was asked.
public struct ApprovalTicket: Sendable, Identifiable {
    /// The name of the question.
    public let id: String
    /// The letters that the phone shows, by which a person knows that it is this question (`7KQ4-M2XW`). With several people, the first one's.
    public let fingerprint: String
    /// The letters that the phone of each person shows, by the person's identifier.
    public let fingerprints: [String: String]
    /// The time when people can no longer decide, as far as the server has said.
    public let expires: Date
    /// The time when it was asked.
    public let asked: Date
    /// Its state when the ticket was made.
    public let state: ApprovalState
    /// The reason it came to its end; `nil` while it has not, or when it ended well.
    public let reason: String?
    /// The outcome that a person reported, and who did; `nil` unless the question was `unknown`.
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
    /// - Throws: ``ApprovalError`` when the ledger fails, and `CancellationError`; the question stays asked then.
    public func decision() async throws -> Decision { try await self.desk.decision(self.key) }

    /// Takes the question back, if nobody has acted on it. The server is told until it says that it is over.
    ///
    /// - Throws: ``ApprovalError/Code/alreadyPerformed``, or what the ledger throws.
    public func withdraw(reason: String = "withdrawn") async throws {
        try await self.desk.withdraw(self.key, reason: reason)
    }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    /// In milliseconds since 1970.
    var milliseconds: Int64 { Int64(saturating: (self.timeIntervalSince1970 * 1_000).rounded()) }
}
