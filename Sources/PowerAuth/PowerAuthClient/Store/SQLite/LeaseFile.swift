/// Gives the right to sign with an activation to one process at a time, and records how far each counter has come. The right is
/// an operating system lock on one byte (``LockFile``), not a row with owner and deadline. It does not separate machines that
/// share a file system such as NFS, where SQLite's write-ahead log does not work either. A waiter has a ticket: a lock far beyond
/// the end of the file, with a number above those of earlier waiters. The lowest is next. The kernel frees the ticket of a dead
/// process. Each activation has a slot of sixteen bytes. Two of its offsets are used for locks. Its content is a high-water mark;
/// see ``HighWaterMarks``.
final class LeaseFile: Sendable {
    private static let slotByteCount = HighWaterMarks.slotByteCount
    static let slots = HighWaterMarks.slots

    /// The offset of the first slot's tickets.
    private static let firstTicket: Int64 = 1 << 56
    /// The number of tickets per slot. They restart when no process waits; waiters beyond the last ticket wait for that.
    private static let ticketCount: Int64 = 1 << 24

    private let file: LockFile
    let marks: HighWaterMarks

    init(path: String) throws {
        self.file = try LockFile(path: path)
        self.marks = HighWaterMarks(in: self.file)
    }

    enum Part: Int64 {
        /// The right to sign.
        case holder = 0
        /// The right to take a ticket, held briefly.
        case turnstile = 1
    }

    /// Locks a part of a slot; `false` if another process or store has it.
    func tryLock(_ part: Part, of slot: Int64) throws -> Bool {
        try self.file.tryLock(Self.offset(of: part, slot))
    }

    func unlock(_ part: Part, of slot: Int64) {
        self.file.unlock(Self.offset(of: part, slot))
    }

    /// Takes the last ticket of the slot's queue; `nil` if another process is just taking one.
    func tryTakeTicket(of slot: Int64) throws -> Int64? {
        guard try self.tryLock(.turnstile, of: slot) else { return nil }
        defer { self.unlock(.turnstile, of: slot) }
        let ticket = try self.nextTicket(of: slot)
        guard ticket < Self.ticketCount else { return nil }
        return try self.file.tryLock(Self.offset(of: ticket, slot)) ? ticket : nil
    }

    func returnTicket(_ ticket: Int64, of slot: Int64) {
        self.file.unlock(Self.offset(of: ticket, slot))
    }

    /// Returns whether another process or store has an earlier ticket.
    func isTicketOut(before ticket: Int64, of slot: Int64) throws -> Bool {
        try self.lockEnd(from: 0, to: ticket, of: slot) != nil
    }

    /// Returns the ticket after all those of other processes and stores.
    func nextTicket(of slot: Int64) throws -> Int64 {
        var ticket: Int64 = 0
        while ticket < Self.ticketCount, let end = try self.lockEnd(from: ticket, to: Self.ticketCount, of: slot) {
            ticket = end
        }
        return ticket
    }

    /// Returns the ticket after any taken one in a range; `nil` if there is none.
    private func lockEnd(from start: Int64, to end: Int64, of slot: Int64) throws -> Int64? {
        guard start < end else { return nil }
        let range = Self.offset(of: start, slot)..<Self.offset(of: end, slot)
        return try self.file.lockOfAnother(in: range).map { $0 - Self.offset(of: 0, slot) + 1 }
    }

    private static func offset(of ticket: Int64, _ slot: Int64) -> Int64 {
        Self.firstTicket + slot * Self.ticketCount + ticket
    }

    private static func offset(of part: Part, _ slot: Int64) -> Int64 {
        slot * Self.slotByteCount + part.rawValue
    }
}
