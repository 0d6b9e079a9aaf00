/// A signature to verify as the server's.
package struct ServerSignature: Sendable {
    /// The key that verifies it.
    package enum Key: Sendable {
        case master
        case activation
        case shared
    }

    /// The encoding of ECDSA.
    package enum Format: Sendable {
        case der
        case jose
    }

    let bytes: [UInt8]
    let key: Key
    let format: Format

    package init(_ bytes: [UInt8], key: Key, format: Format) {
        self.bytes = bytes
        self.key = key
        self.format = format
    }
}

extension Activation {
    /// Returns whether the server signed `data`.
    package nonisolated func isValid(_ signature: ServerSignature, of data: [UInt8]) -> Bool {
        self.dialect.isValid(signature, of: data)
    }
}
