/// A curve as part of a key's type, so that points of different curves cannot be confused.
package protocol EllipticCurve: Sendable {
    static var curve: NISTCurve { get }
}

/// The curve of protocol version 3.
package enum P256: EllipticCurve {
    package static var curve: NISTCurve { .p256 }
}

/// The curve of protocol version 4.
package enum P384: EllipticCurve {
    package static var curve: NISTCurve { .p384 }
}

/// A curve of FIPS 186, with the hash for its signatures.
package enum NISTCurve: Sendable {
    /// P-256, with SHA-256.
    case p256
    /// P-384, with SHA-384.
    case p384

    var name: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        }
    }

    package var coordinateByteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        }
    }

    var compressedPointByteCount: Int { 1 + self.coordinateByteCount }

    var uncompressedPointByteCount: Int { 1 + 2 * self.coordinateByteCount }

    func hash(_ message: [UInt8]) -> [UInt8] {
        switch self {
        case .p256: SHA256.hash(message)
        case .p384: SHA384.hash(message)
        }
    }

    /// libcrypto's group of the curve.
    var group: OpaquePointer {
        switch self {
        case .p256: Algorithm.p256
        case .p384: Algorithm.p384
        }
    }

    /// The calling thread's context for generating key pairs.
    var keyGenerator: OpaquePointer {
        switch self {
        case .p256: ThreadContexts.current.p256KeyGenerator.pointer
        case .p384: ThreadContexts.current.p384KeyGenerator.pointer
        }
    }
}
