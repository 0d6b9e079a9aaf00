/// A curve as part of a key's type, so that a point of one curve cannot be used where one of the other belongs.
package protocol EllipticCurve: Sendable {
    /// The curve itself.
    static var curve: NISTCurve { get }
}

/// The curve of version 3 of the protocol.
package enum P256: EllipticCurve {
    package static var curve: NISTCurve { .p256 }
}

/// The curve of version 4 of the protocol.
package enum P384: EllipticCurve {
    package static var curve: NISTCurve { .p384 }
}

/// A curve of FIPS 186, with the hash that signatures over it use here.
package enum NISTCurve: Sendable {
    /// P-256, with SHA-256.
    case p256
    /// P-384, with SHA-384.
    case p384

    /// The name by which libcrypto knows the curve.
    var name: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        }
    }

    /// The length of a coordinate, and of a scalar.
    package var coordinateByteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        }
    }

    /// The length of a point with one coordinate.
    var compressedPointByteCount: Int { 1 + self.coordinateByteCount }

    /// The length of a point with both coordinates.
    var uncompressedPointByteCount: Int { 1 + 2 * self.coordinateByteCount }

    /// Returns the hash that a signature covers.
    func hash(_ message: [UInt8]) -> [UInt8] {
        switch self {
        case .p256: SHA256.hash(message)
        case .p384: SHA384.hash(message)
        }
    }

    /// libcrypto's arithmetic of the curve.
    var group: OpaquePointer {
        switch self {
        case .p256: Algorithm.p256
        case .p384: Algorithm.p384
        }
    }

    /// The context that creates key pairs on the calling thread.
    var keyGenerator: OpaquePointer {
        switch self {
        case .p256: ThreadContexts.current.p256KeyGenerator.pointer
        case .p384: ThreadContexts.current.p384KeyGenerator.pointer
        }
    }
}
