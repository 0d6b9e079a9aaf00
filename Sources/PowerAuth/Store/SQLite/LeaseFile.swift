internal import Glibc
internal import PowerAuthCrypto
internal import Synchronization

/// Gives the right to sign with an activation to one process at a time, and remembers how far each counter has come.
///
/// The right is a lock of the operating system on one byte, not a row with an owner and a deadline: the kernel frees it
/// at the moment its holder dies, however it dies, and no clock decides whether a slow holder still lives. Locks of open
/// file descriptions (`F_OFD_SETLK`) keep apart two stores within one process as well, and other descriptors of the file
/// may be closed without dropping them. A file system that does not carry such locks between machines, such as NFS, does
/// not keep machines apart; SQLite's write-ahead log does not work there either.
///
/// Each activation has a slot of sixteen bytes. Two of its offsets stand for the locks. Its content is a mark: the
/// greatest count of moves that was ever committed. It is written after each commit without being synchronised, so a
/// power failure may lose it, but neither a killed process nor a database whose log was cut short or that was put back
/// from a backup does; a database behind its mark is an old state. A mark is bound to its activation: a database of other
/// activations, put in place of this one, has no marks.
final class LeaseFile: Sendable {
    private static let slotByteCount: Int64 = 16
    /// `F_OFD_SETLK`, which Linux's headers hide from Swift.
    private static let setOpenFileDescriptionLock: Int32 = 37

    private let descriptor: Int32

    init(path: String) throws {
        self.descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw MobileTokenError.system("open", path) }
    }

    deinit { close(self.descriptor) }

    /// The parts of a slot that can be locked.
    enum Part: Int64 {
        /// The right to sign.
        case holder = 0
        /// The right to wait for it. Who has just signed and wants to again must queue behind the process that waits.
        case turnstile = 1
    }

    /// Locks a part of a slot, or returns `false` when another process or store has it.
    func tryLock(_ part: Part, of slot: Int64) throws -> Bool {
        guard self.setLock(F_WRLCK, part, of: slot) != 0 else { return true }
        guard errno == EAGAIN || errno == EACCES else {
            throw MobileTokenError.system("lock a byte of", "the lease file")
        }
        return false
    }

    /// Unlocks a part of a slot.
    func unlock(_ part: Part, of slot: Int64) {
        _ = self.setLock(F_UNLCK, part, of: slot)
    }

    private func setLock(_ type: Int32, _ part: Part, of slot: Int64) -> Int32 {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(slot * Self.slotByteCount + part.rawValue)
        lock.l_len = 1
        return fcntl(self.descriptor, Self.setOpenFileDescriptionLock, &lock)
    }

    /// The greatest count of moves that an activation's counter was known to have; 0 when nothing is known.
    func mark(of slot: Int64, activationID: String) -> UInt64 {
        var words: (moves: UInt64, check: UInt64) = (0, 0)
        let count = withUnsafeMutableBytes(of: &words) {
            pread(self.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
        // The second word tells a mark from zeros, from one that is being written, and from another activation's.
        guard count == Int(Self.slotByteCount), words.check == Self.check(of: words.moves, activationID) else {
            return 0
        }
        return words.moves
    }

    /// Sets the mark of an activation. Best effort: without it a rollback is noticed later, by the server's status.
    func setMark(_ moves: UInt64, of slot: Int64, activationID: String) {
        let words = (moves, Self.check(of: moves, activationID))
        _ = withUnsafeBytes(of: words) {
            pwrite(self.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
    }

    private static func check(of moves: UInt64, _ activationID: String) -> UInt64 {
        let input = withUnsafeBytes(of: moves.bigEndian) { Array($0) } + Array(activationID.utf8)
        return SHA256.hash(input).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
