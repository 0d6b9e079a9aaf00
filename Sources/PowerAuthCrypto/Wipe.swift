import COpenSSL

extension [UInt8] {
    /// Overwrites the bytes with zeros in a way that the compiler may not leave out.
    package mutating func wipe() {
        self.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Overwrites the bytes with zeros in a way that the compiler may not leave out.
    package func wipe() { OPENSSL_cleanse(self.baseAddress, self.count) }
}
