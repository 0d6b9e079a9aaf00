import EmulatorBackend
public import Foundation

extension Emulator {
    /// Something that happened to an operation.
    public struct OperationMoment: Sendable, Codable, Hashable {
        /// `created`, `shown` (in a device's list), `opened` (its detail), `claimed`, `offlineCodeMade`, `approved`,
        /// `approvalRefused`, `rejected`, `rejectionRefused`, `canceled` or `expired`.
        public var kind: String
        /// When, by the server's clock; for what happened several times, the first time.
        public var time: Date
        /// The number of the request in the journal, of the first if there were several; `nil` for what happened without one.
        public var requestID: UInt64?
        /// The activation whose device did it.
        public var activationID: String?
        /// The factors that it signed with, such as `possession_knowledge`.
        public var factors: String?
        /// Why it was refused or canceled.
        public var reason: String?
        /// How often it happened; a device that lists an operation does so again and again.
        public var count: Int
        /// When it happened last.
        public var last: Date
    }
}

/// What happened to operations, oldest first, so much that it fits the bounds. The oldest operations are forgotten first.
struct OperationHistories: Sendable {
    /// How many moments all operations together keep.
    static let capacity = 50_000
    /// How many moments of one operation are kept: its first ones and its last.
    static let capacityOfOne = 100
    /// How many bytes of a reason are kept.
    static let reasonCapacity = 1024

    private var moments: [String: [Emulator.OperationMoment]] = [:]
    /// In the order in which they were first heard of. The first `forgotten` are gone.
    private var identifiers: [String] = []
    private var forgotten = 0
    private var count = 0

    subscript(operationID: String) -> [Emulator.OperationMoment] { self.moments[operationID] ?? [] }

    mutating func append(_ note: OperationNote, of entry: Emulator.JournalEntry) {
        let moment = Emulator.OperationMoment(
            kind: note.kind.rawValue,
            time: entry.time,
            requestID: entry.id,
            activationID: entry.activationID,
            factors: entry.code?.factors,
            reason: note.reason.map { String(decoding: $0.utf8.prefix(Self.reasonCapacity), as: UTF8.self) },
            count: 1,
            last: entry.time
        )
        let isKnown = self.moments[note.operationID] != nil
        if !isKnown { self.identifiers.append(note.operationID) }
        self.count += Self.add(moment, note.kind, to: &self.moments[note.operationID, default: []])
        self.forgetOldest()
    }

    /// - Returns: How many moments there are more.
    private static func add(
        _ moment: Emulator.OperationMoment,
        _ kind: OperationNote.Kind,
        to moments: inout [Emulator.OperationMoment]
    ) -> Int {
        if kind == .shown || kind == .opened {
            let same = moments.firstIndex { $0.kind == moment.kind && $0.activationID == moment.activationID }
            if let same {
                moments[same].count += 1
                moments[same].last = moment.time
                return 0
            }
        }
        guard moments.count < Self.capacityOfOne else {
            moments[moments.count - 1] = moment
            return 0
        }
        moments.append(moment)
        return 1
    }

    private mutating func forgetOldest() {
        while self.count > Self.capacity, self.forgotten < self.identifiers.count {
            self.count -= self.moments.removeValue(forKey: self.identifiers[self.forgotten])?.count ?? 0
            self.forgotten += 1
        }
        guard self.forgotten > Self.capacity else { return }
        self.identifiers.removeFirst(self.forgotten)
        self.forgotten = 0
    }
}
