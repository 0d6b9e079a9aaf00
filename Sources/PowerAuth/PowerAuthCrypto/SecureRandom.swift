import COpenSSL

/// libcrypto's random generators.
package enum SecureRandom {
    /// Returns random bytes for public use, such as nonces, challenges and salts. Use ``secret(_:)`` for keys.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0)
        return [UInt8](count: count) { ThreadContexts.current.noncePool.take(into: $0) }
    }

    /// Returns secret random bytes from libcrypto's generator for private keys.
    package static func secret(_ count: Int) -> SecretBytes {
        precondition(count >= 0 && count <= Int(Int32.max))
        return SecretBytes(count: count) { bytes in
            require(RAND_priv_bytes(bytes.octets, Int32(count)), "RAND_priv_bytes")
        }
    }
}

/// Random bytes drawn ahead for a few dozen nonces, because one draw costs as much as a signature. Each byte is used once and
/// cleared. The bytes are public after use and never keys. A process that forks without `exec`, which Swift does not allow, would
/// repeat nonces.
struct NoncePool {
    private static let capacity = 512

    private var bytes = [UInt8](repeating: 0, count: Self.capacity)
    private var used = Self.capacity

    mutating func take(into target: UnsafeMutableRawBufferPointer) {
        guard target.count <= Self.capacity else {
            precondition(target.count <= Int(Int32.max))
            return require(RAND_bytes(target.octets, Int32(target.count)), "RAND_bytes")
        }
        if self.used + target.count > Self.capacity {
            require(RAND_bytes(&self.bytes, Int32(Self.capacity)), "RAND_bytes")
            self.used = 0
        }
        let start = self.used
        self.used += target.count
        self.bytes.withUnsafeMutableBytes { bytes in
            let taken = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + target.count])
            target.copyMemory(from: UnsafeRawBufferPointer(taken))
            taken.initializeMemory(as: UInt8.self, repeating: 0)
        }
    }
}
