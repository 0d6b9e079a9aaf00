import Glibc
import PowerAuthCrypto

/// The moves of each counter of a store, in a file beside it: a counter behind its mark was restored. Each activation has a slot
/// of sixteen bytes with the highest count of moves ever committed. It is written after each commit without synchronization, so
/// only a power failure may lose it. A mark is bound to its activation: it does not apply to another store's activations.
package struct HighWaterMarks: Sendable {
    package static let slotByteCount: Int64 = 16
    /// The possible slots: more than any store needs, with offsets that fit a number.
    package static let slots: ClosedRange<Int64> = 1...(1 << 32)

    private let file: LockFile

    /// Keeps marks in a file that may also be used for locks.
    package init(in file: LockFile) { self.file = file }

    /// Returns the highest known count of moves of an activation's counter; 0 if unknown.
    package func moves(of slot: Int64, activationID: String) -> UInt64 {
        Self.slots.contains(slot) ? self.read(slot, activationID) : 0
    }

    private func read(_ slot: Int64, _ activationID: String) -> UInt64 {
        var words: (moves: UInt64, check: UInt64) = (0, 0)
        let count = withUnsafeMutableBytes(of: &words) {
            pread(self.file.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
        // The second word detects zeros, a torn write, and another activation's mark.
        guard count == Int(Self.slotByteCount), words.check == Self.check(of: words.moves, activationID) else {
            return 0
        }
        return words.moves
    }

    /// Sets the mark of an activation. Best effort: without it the server's status detects a rollback later.
    package func set(_ moves: UInt64, of slot: Int64, activationID: String) {
        if Self.slots.contains(slot) { self.write(moves, slot, activationID) }
    }

    private func write(_ moves: UInt64, _ slot: Int64, _ activationID: String) {
        let words = (moves, Self.check(of: moves, activationID))
        _ = withUnsafeBytes(of: words) {
            pwrite(self.file.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
    }

    /// The number of the last receipt that charged limits; 0 if unknown. It is in the slot that no activation has.
    package var chargedReceipt: UInt64 {
        get { self.read(0, Self.storeName) }
        nonmutating set { self.write(newValue, 0, Self.storeName) }
    }

    private static let storeName = "charged receipts"

    private static func check(of moves: UInt64, _ activationID: String) -> UInt64 {
        let input = withUnsafeBytes(of: moves.bigEndian) { Array($0) } + Array(activationID.utf8)
        return SHA256.hash(input).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
