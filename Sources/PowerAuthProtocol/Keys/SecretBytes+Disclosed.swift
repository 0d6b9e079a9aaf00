import PowerAuthCrypto

extension SecretBytes {
    /// A copy of the bytes in an ordinary array, for values that are derived like keys and are no secret.
    var disclosed: [UInt8] { self.withUnsafeBytes { [UInt8]($0) } }
}
