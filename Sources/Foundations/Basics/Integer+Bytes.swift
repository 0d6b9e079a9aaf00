extension FixedWidthInteger {
    /// The bytes in big-endian order.
    @inlinable public var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { [UInt8]($0) } }

    /// Creates an integer from big-endian bytes; `nil` for another number of bytes.
    @inlinable public init?(bigEndianBytes bytes: some Collection<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
