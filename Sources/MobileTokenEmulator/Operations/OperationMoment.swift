package import APIDescriptions
public import EmulatorBackend
public import Foundation

extension Emulator {
    /// Something that happened to an operation.
    public struct OperationMoment: Sendable, Codable, Hashable {
        /// The kind of what happened.
        public typealias Kind = EmulatorOperationMoment

        /// The kind of the moment.
        public var kind: Kind
        /// The time by the server's clock; for what happened several times, the first time.
        public var time: Date
        /// The number of the request in the journal, of the first if there were several; `nil` for what happened without one.
        public var requestID: UInt64?
        /// The activation whose device did it.
        public var activationID: String?
        /// The factors that it signed with, such as `possession_knowledge`.
        public var factors: String?
        /// The reason of a refusal or a cancellation.
        public var reason: String?
        /// The number of times; a device that lists an operation does so again and again.
        public var count: Int
        /// The time at which it happened last.
        public var last: Date
    }
}

extension Emulator.OperationMoment: Described {
    package static let fields = FieldTable(
        "OperationMoment",
        Self.init,
        .required("kind", \.kind, .cases()),
        .required("time", \.time, .date),
        .optional("requestID", \.requestID, .count, "The number in the journal.", unit: .number),
        .optional("activationID", \.activationID, .string),
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

    /// Indicates whether the same happened again: a device was shown the operation once more.
    func repeats(_ other: Self) -> Bool {
        [.shown, .opened].contains(self.kind) && self.kind == other.kind && self.activationID == other.activationID
    }
}

/// The past of an operation, oldest first.
struct OperationHistory: Described {
    var moments: [Emulator.OperationMoment]

    static let fields = FieldTable(
        "OperationHistory",
        Self.init(moments:),
        .required("moments", \.moments, .list(of: Emulator.OperationMoment.fields.inlined))
    )
}
