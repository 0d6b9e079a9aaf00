import COpenSSL

/// Secret bytes, such as a key, wiped with their last copy.
///
/// Copies share one buffer, so copying a `SecretBytes` does not copy the secret. It prints as `<16 secret bytes>`, compares in
/// constant time, and is deliberately not `Codable`.
public struct SecretBytes: Sendable, Equatable {
    // Unsafe for the compiler, because a managed buffer cannot be `Sendable`. It is written only in the initializers, before it
    // is shared, and wiped in `deinit`. All other accesses are reads.
    private nonisolated(unsafe) let buffer: Buffer

    /// The number of bytes.
    public var count: Int { self.buffer.header.count }

    /// Creates a secret that `fill` writes to its final place, without copies. The buffer is zeroed before, and wiped if `fill`
    /// throws.
    public init<Failure: Error>(
        count: Int,
        initializingWith fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let buffer = Buffer.zeroed(count: count)
        try fill(buffer.bytes)
        self.buffer = buffer
    }

    /// Creates a secret from a copy of `bytes`. The caller wipes the original.
    public init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Creates a secret from the UTF-8 bytes of a string, such as a password.
    public init(utf8 string: String) {
        self.init(copying: string.utf8)
    }

    /// Creates a secret, and lends the wiped memory to `observer`, for tests.
    package init(copying bytes: [UInt8], whenWiped observer: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        self.init(copying: bytes)
        self.buffer.header.observer = observer
    }

    /// Lends the bytes to `body`. Neither the pointer nor a copy may outlive the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self.buffer) {} }
        return try body(UnsafeRawBufferPointer(self.buffer.bytes))
    }

    /// Compares the bytes in constant time.
    public static func == (one: Self, other: Self) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { other in constantTimeEquals(one, other) } }
    }

    private struct Header {
        let count: Int
        var observer: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    }

    private final class Buffer: ManagedBuffer<Header, UInt8> {
        static func zeroed(count: Int) -> Buffer {
            let buffer = Self.create(minimumCapacity: count) { _ in Header(count: count) }
            buffer.withUnsafeMutablePointerToElements { $0.initialize(repeating: 0, count: count) }
            // `create` is typed as the superclass, but makes an instance of this class.
            return unsafeDowncast(buffer, to: Buffer.self)
        }

        var bytes: UnsafeMutableRawBufferPointer {
            self.withUnsafeMutablePointers { header, elements in
                UnsafeMutableRawBufferPointer(start: elements, count: header.pointee.count)
            }
        }

        deinit {
            OPENSSL_cleanse(self.bytes.baseAddress, self.bytes.count)
            self.header.observer?(UnsafeRawBufferPointer(self.bytes))
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// The length only.
    public var description: String { "<\(self.count) secret bytes>" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
