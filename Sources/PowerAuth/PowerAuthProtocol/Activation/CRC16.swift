/// The checksum CRC-16/ARC: reflected polynomial 0x8005, initial value zero.
package enum CRC16 {
    private static let table: [UInt16] = (0..<256).map { (byte: UInt16) in
        (0..<8).reduce(byte) { remainder, _ in remainder & 1 == 1 ? remainder >> 1 ^ 0xA001 : remainder >> 1 }
    }

    package static func updated(_ checksum: UInt16, with byte: UInt8) -> UInt16 {
        checksum >> 8 ^ Self.table[Int((checksum ^ UInt16(byte)) & 0xFF)]
    }
}
