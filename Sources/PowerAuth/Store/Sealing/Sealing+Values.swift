import PowerAuthCrypto

// Bytes that a store keeps beside the record of an activation.
extension Sealing {
    /// Seals bytes, bound to an activation and to what they are.
    package func seal(_ bytes: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        try self.cipher(of: activationID).seal(SecretBytes(copying: bytes), name: name).bytes
    }

    /// Returns bytes that were sealed.
    ///
    /// - Throws: `storeCorrupted` when they fail authentication.
    package func open(_ sealed: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        let field = SealedActivation.Field(name: name, isSealed: true, bytes: sealed)
        return try self.cipher(of: activationID).open(field).withUnsafeBytes { Array($0) }
    }
}
