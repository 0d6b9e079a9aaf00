import Glibc
import PowerAuthCrypto

/// The moves that each counter of a store had made, in a file beside the store: what is behind its mark was put back.
///
/// Each activation has a slot of sixteen bytes. Its content is the greatest count of moves that was ever committed. It is
/// written after each commit without being synchronized, so a power failure may lose it, but neither a killed process nor a
/// store that was put back from a backup does. A mark is bound to its activation: a store of other activations, put in place
/// of this one, has no marks.
package struct HighWaterMarks: Sendable {
    package static let slotByteCount: Int64 = 16
    /// The slots that there can be: more than any store holds, and few enough for every offset to be a number.
    package static let slots: ClosedRange<Int64> = 1...(1 << 32)

    private let file: LockFile

    /// Keeps marks in a file whose locks may serve another purpose.
    package init(in file: LockFile) { self.file = file }

    /// Returns the greatest count of moves that an activation's counter was known to have; 0 when nothing is known.
    package func moves(of slot: Int64, activationID: String) -> UInt64 {
        guard Self.slots.contains(slot) else { return 0 }
        var words: (moves: UInt64, check: UInt64) = (0, 0)
        let count = withUnsafeMutableBytes(of: &words) {
            pread(self.file.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
        // The second word tells a mark from zeros, from one that is being written, and from another activation's.
        guard count == Int(Self.slotByteCount), words.check == Self.check(of: words.moves, activationID) else {
            return 0
        }
        return words.moves
    }

    /// Sets the mark of an activation.
    ///
    /// Best effort: without it a rollback is noticed later, by the server's status.
    package func set(_ moves: UInt64, of slot: Int64, activationID: String) {
        guard Self.slots.contains(slot) else { return }
        let words = (moves, Self.check(of: moves, activationID))
        _ = withUnsafeBytes(of: words) {
            pwrite(self.file.descriptor, $0.baseAddress, $0.count, off_t(slot * Self.slotByteCount))
        }
    }

    private static func check(of moves: UInt64, _ activationID: String) -> UInt64 {
        let input = withUnsafeBytes(of: moves.bigEndian) { Array($0) } + Array(activationID.utf8)
        return SHA256.hash(input).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
