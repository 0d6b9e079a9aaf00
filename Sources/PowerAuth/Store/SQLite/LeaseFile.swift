/// Gives the right to sign with an activation to one process at a time, and remembers how far each counter has come.
///
/// The right is a lock of the operating system on one byte (``LockFile``), not a row with an owner and a deadline. It does not
/// keep machines apart that share a file system such as NFS; SQLite's write-ahead log does not work there either.
///
/// A waiter has a ticket, which is a lock too, far beyond the end of the file: a number greater than those of all
/// waiters before it. The least is next. The kernel takes back the ticket of a process that dies, so no process waits for a
/// dead one.
///
/// Each activation has a slot of sixteen bytes. Two of its offsets stand for locks. Its content is a high-water mark; see
/// ``HighWaterMarks``.
final class LeaseFile: Sendable {
    private static let slotByteCount = HighWaterMarks.slotByteCount
    static let slots = HighWaterMarks.slots

    /// The offset at which the tickets of the first slot begin.
    private static let firstTicket: Int64 = 1 << 56
    /// The number of tickets that a slot has. They start over whenever there is no waiter; until that happens, waiters beyond the last
    /// ticket wait.
    private static let ticketCount: Int64 = 1 << 24

    private let file: LockFile
    let marks: HighWaterMarks

    init(path: String) throws {
        self.file = try LockFile(path: path)
        self.marks = HighWaterMarks(in: self.file)
    }

    /// The parts of a slot that can be locked.
    enum Part: Int64 {
        /// The right to sign.
        case holder = 0
        /// The right to take a ticket, held for a moment.
        case turnstile = 1
    }

    /// Locks a part of a slot, or returns `false` when another process or store has it.
    func tryLock(_ part: Part, of slot: Int64) throws -> Bool {
        try self.file.tryLock(Self.offset(of: part, slot))
    }

    /// Unlocks a part of a slot.
    func unlock(_ part: Part, of slot: Int64) {
        self.file.unlock(Self.offset(of: part, slot))
    }

    /// Takes a ticket that comes after all others of the slot; `nil` when another process is just taking one.
    func tryTakeTicket(of slot: Int64) throws -> Int64? {
        guard try self.tryLock(.turnstile, of: slot) else { return nil }
        defer { self.unlock(.turnstile, of: slot) }
        let ticket = try self.nextTicket(of: slot)
        guard ticket < Self.ticketCount else { return nil }
        return try self.file.tryLock(Self.offset(of: ticket, slot)) ? ticket : nil
    }

    /// Gives a ticket back.
    func returnTicket(_ ticket: Int64, of slot: Int64) {
        self.file.unlock(Self.offset(of: ticket, slot))
    }

    /// Returns whether another process or store has an earlier ticket.
    func isTicketOut(before ticket: Int64, of slot: Int64) throws -> Bool {
        try self.lockEnd(from: 0, to: ticket, of: slot) != nil
    }

    /// Returns the ticket after all those that other processes and stores have.
    func nextTicket(of slot: Int64) throws -> Int64 {
        var ticket: Int64 = 0
        while ticket < Self.ticketCount, let end = try self.lockEnd(from: ticket, to: Self.ticketCount, of: slot) {
            ticket = end
        }
        return ticket
    }

    /// Returns the ticket after one that is out in a range, whichever the kernel names; `nil` when there is none.
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
