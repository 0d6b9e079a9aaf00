extension FixedWidthInteger {
    /// The bytes, most significant first.
    @inlinable public var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { [UInt8]($0) } }

    /// Reads bytes, the most significant first; `nil` when they are not as many as the integer has.
    @inlinable public init?(bigEndianBytes bytes: some Collection<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}
