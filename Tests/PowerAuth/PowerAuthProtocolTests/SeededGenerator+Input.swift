import Foundation
import MobileTokenTesting
import PowerAuthCrypto

// The random input of these tests.
extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    mutating func bytes(upTo count: Int) -> [UInt8] { self.bytes(Int.random(in: 0...count, using: &self)) }

    mutating func secret(_ count: Int) -> SecretBytes { SecretBytes(copying: self.bytes(count)) }

    mutating func privateKey() throws -> P256PrivateKey {
        var scalar = self.bytes(32)
        scalar[0] &= 0x7F  // below the order of the curve
        scalar[31] |= 1
        return try P256PrivateKey(scalar: SecretBytes(copying: scalar))
    }

    mutating func uuid() -> String {
        var bytes = self.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { String(format: "%02x", $0) }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    mutating func applicationSecret() throws -> ApplicationSecret {
        try Required.value(ApplicationSecret(bytes: self.secret(16)))
    }

    mutating func element<Element>(of elements: [Element]) throws -> Element {
        try Required.value(elements.randomElement(using: &self))
    }
}

/// `#require` for helpers that are no tests.
enum Required {
    struct Missing: Error {}

    static func value<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }
}

extension [UInt8] {
    var withOneBitFlipped: some Sequence<[UInt8]> {
        self.indices.lazy.flatMap { index in
            (0..<8).lazy.map { bit in self.withBitFlipped(bit, at: index) }
        }
    }

    /// The array with one bit of one byte changed.
    func withBitFlipped(_ bit: Int, at index: Int) -> [UInt8] {
        var changed = self
        changed[index] ^= 1 << UInt8(bit)
        return changed
    }
}
