import COpenSSL

extension [UInt8] {
    /// Creates an array of `count` bytes, which `fill` writes.
    package init<Failure: Error>(
        count: Int,
        initializingWith fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        self.init(repeating: 0, count: count)
        try self.withUnsafeMutableBufferPointer { (bytes) throws(Failure) in
            try fill(UnsafeMutableRawBufferPointer(bytes))
        }
    }

    /// Lends the bytes to `body`, as `withUnsafeBytes` does, with a typed error.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.withUnsafeBufferPointer { (bytes) throws(Failure) in try body(UnsafeRawBufferPointer(bytes)) }
    }

    /// Overwrites the bytes with zeros in a way that the compiler may not leave out.
    package mutating func wipe() {
        self.withUnsafeMutableBytes { $0.wipe() }
    }
}

extension UnsafeRawBufferPointer {
    /// The address, never `nil`: libcrypto reads `NULL` as "keep the last key", not as "empty".
    var octets: UnsafePointer<UInt8> {
        (self.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped).assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The address; `nil` only when there are no bytes.
    var octets: UnsafeMutablePointer<UInt8>? { self.baseAddress?.assumingMemoryBound(to: UInt8.self) }

    /// Overwrites the bytes with zeros in a way that the compiler may not leave out.
    package func wipe() { OPENSSL_cleanse(self.baseAddress, self.count) }
}
