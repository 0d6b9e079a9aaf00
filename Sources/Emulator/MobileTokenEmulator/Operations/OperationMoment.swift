package import APIDescriptions
public import EmulatorBackend
public import Foundation

extension Emulator {
    /// An event in an operation's history.
    public struct OperationMoment: Sendable, Codable, Hashable {
        /// The kind of event.
        public typealias Kind = EmulatorOperationMoment

        /// The kind of event.
        public var kind: Kind
        /// The time by the server's clock; for repeated events, the first time.
        public var time: Date
        /// The number of the first such request in the journal; `nil` for an event without one.
        public var requestID: UInt64?
        /// The activation of the acting device.
        public var activationID: String?
        /// The factors of its signature, such as `possession_knowledge`.
        public var factors: String?
        /// The reason of a refusal, a cancellation or a failed callback.
        public var reason: String?
        /// The same in a few words, as in ``JournalEntry/finding``.
        public var finding: String?
        /// The push message.
        public var pushID: UInt64?
        /// The delivery that a callback was an attempt of.
        public var deliveryID: UInt64?
        /// The number of the attempt, from 1.
        public var attempt: Int?
        /// The number of attempts that the callback has.
        public var attempts: Int?
        /// The time of the next attempt, while the delivery waits for it.
        public var next: Date?
        /// The number of times; a device lists an operation repeatedly.
        public var count: Int
        /// The time of the last repetition.
        public var last: Date
    }
}

extension Emulator.OperationMoment: Described {
    package static let fields = FieldTable(
        "OperationMoment",
        Self.init,
        .required("kind", \.kind, .cases()),
        .required("time", \.time, .date),
        .optional("requestId", \.requestID, .count, "The number in the journal.", unit: .number),
        .optional("activationId", \.activationID, .string),
        .optional("factors", \.factors, .string),
        .optional("reason", \.reason, .string),
        .optional("finding", \.finding, .string, "The same in a few words."),
        .optional("pushId", \.pushID, .count, unit: .number),
        .optional("deliveryId", \.deliveryID, .count, "The delivery of a callback.", unit: .number),
        .optional("attempt", \.attempt, .count, "Of a delivery, from 1.", unit: .number),
        .optional("attempts", \.attempts, .count, "Those that a delivery has."),
        .optional("next", \.next, .date, "The time of the next attempt."),
        .required("count", \.count, .count),
        .required("last", \.last, .date)
    )

    init(_ note: OperationNote, _ entry: Emulator.JournalEntry) {
        self.init(
            kind: note.kind,
            time: entry.time,
            requestID: entry.id,
            activationID: entry.activationID,
            factors: entry.code?.factors,
            reason: note.reason,
            finding: entry.code?.finding,
            count: 1,
            last: entry.time
        )
    }

    /// The attempt of a delivery.
    init(_ entry: Emulator.JournalEntry, attempt: Int) {
        self.init(
            kind: entry.isAccepted ? .callbackDelivered : .callbackFailed,
            time: entry.time,
            requestID: entry.id,
            reason: entry.refusal,
            deliveryID: entry.deliveryID,
            attempt: attempt,
            count: 1,
            last: entry.time
        )
    }

    init(_ push: Emulator.PushSummary) {
        self.init(
            kind: .pushed,
            time: push.created,
            activationID: push.activationID,
            pushID: push.id,
            count: 1,
            last: push.created
        )
    }

    /// A moment that no request tells of.
    init(_ kind: Kind, at time: Milliseconds) {
        let time = Date(milliseconds: time)
        self.init(kind: kind, time: time, count: 1, last: time)
    }

    /// Indicates whether the event repeats `other`: a device was shown the operation again.
    func repeats(_ other: Self) -> Bool {
        [.shown, .opened].contains(self.kind) && self.kind == other.kind && self.activationID == other.activationID
    }
}
