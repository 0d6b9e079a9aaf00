import PowerAuthCrypto

extension SecretBytes {
    /// The bytes, copied into an ordinary array: for what is not secret although it is derived like a key.
    var disclosed: [UInt8] { self.withUnsafeBytes { [UInt8]($0) } }
}
