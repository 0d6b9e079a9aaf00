import Basics

/// The source of identifiers, keys and nonces: the system's generator, or a fixed sequence for a reproducible server.
package struct SeededRandomness: Sendable, Equatable, RandomNumberGenerator, Codable {
    /// The state of the fixed sequence; `nil` for the system's generator.
    private var state: UInt64?

    /// - Parameter seed: Fixes the sequence. Such a server has no secrets: use it only in tests.
    package init(seed: UInt64? = nil) {
        self.state = seed
    }

    package mutating func next() -> UInt64 {
        guard let state = self.state else {
            var system = SystemRandomNumberGenerator()
            return system.next()
        }
        // SplitMix64: every seed gives a sequence of full period.
        let next = state &+ 0x9E37_79B9_7F4A_7C15
        self.state = next
        var mixed = (next ^ (next >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: self.next().littleEndian) { bytes += $0.prefix(count - bytes.count) }
        }
        return bytes
    }

    /// Returns a random UUID in lower case, as in all identifiers of the server.
    package mutating func identifier() -> String {
        var bytes = self.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Hexadecimal.encode(bytes)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { digits.dropFirst($0.lowerBound).prefix($0.count) }.joined(separator: "-")
    }
}
