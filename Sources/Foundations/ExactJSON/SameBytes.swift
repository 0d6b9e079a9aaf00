import Foundation

extension [UInt8] {
    /// Returns whether both have the same bytes. Faster than `==`, which compares elements.
    package func hasSameBytes(as other: [UInt8]) -> Bool {
        self.count == other.count && self.hasSameBytes(in: 0..<self.count, as: other, from: 0)
    }

    /// Returns whether a range equals the bytes of `other` from `start`; `false` if either is out of bounds.
    package func hasSameBytes(in range: Range<Int>, as other: [UInt8], from start: Int) -> Bool {
        guard 0 <= range.lowerBound, range.upperBound <= self.count, 0 <= start, start + range.count <= other.count
        else {
            return false
        }
        return self.withUnsafeBytes { bytes in
            other.withUnsafeBytes { others in
                guard let bytes = bytes.baseAddress, let others = others.baseAddress else { return true }
                return memcmp(bytes + range.lowerBound, others + start, range.count) == 0
            }
        }
    }
}
