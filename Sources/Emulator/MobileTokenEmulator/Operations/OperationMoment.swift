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
        /// The reason of a refusal or a cancellation.
        public var reason: String?
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
            count: 1,
            last: entry.time
        )
    }

    /// Indicates whether the event repeats `other`: a device was shown the operation again.
    func repeats(_ other: Self) -> Bool {
        [.shown, .opened].contains(self.kind) && self.kind == other.kind && self.activationID == other.activationID
    }
}
