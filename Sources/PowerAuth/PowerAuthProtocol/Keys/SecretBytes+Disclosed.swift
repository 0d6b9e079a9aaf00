import PowerAuthCrypto

extension SecretBytes {
    /// A copy of the bytes in an array, for derived values that are not secret.
    var disclosed: [UInt8] { self.withUnsafeBytes { [UInt8]($0) } }
}
