extension FixedWidthInteger {
    /// The bytes, most significant first.
    @inlinable package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { [UInt8]($0) } }
}
