import COpenSSL

extension [UInt8] {
    /// Creates an array of `count` bytes, filled by `fill`.
    package init<Failure: Error>(
        count: Int,
        initializingWith fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        self.init(repeating: 0, count: count)
        try self.withUnsafeMutableBufferPointer { (bytes) throws(Failure) in
            try fill(UnsafeMutableRawBufferPointer(bytes))
        }
    }

    /// `withUnsafeBytes` with a typed error.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.withUnsafeBufferPointer { (bytes) throws(Failure) in try body(UnsafeRawBufferPointer(bytes)) }
    }

    /// Overwrites the bytes with zeros. The compiler cannot remove this.
    package mutating func wipe() {
        self.withUnsafeMutableBytes { $0.wipe() }
    }
}

extension UnsafeRawBufferPointer {
    /// The address, never `nil`: libcrypto takes `NULL` as "keep the last key", not as "empty".
    var octets: UnsafePointer<UInt8> {
        (self.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped).assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The address; `nil` only for an empty buffer.
    var octets: UnsafeMutablePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }

    /// Overwrites the bytes with zeros. The compiler cannot remove this.
    package func wipe() { OPENSSL_cleanse(self.baseAddress, self.count) }
}
