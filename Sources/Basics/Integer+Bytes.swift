extension FixedWidthInteger {
    /// The bytes, most significant first.
    package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { [UInt8]($0) } }
}
