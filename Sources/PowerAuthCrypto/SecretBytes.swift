import COpenSSL

/// Key bytes that are overwritten with zeros when the last copy of the value goes.
///
/// Copies of the value share one buffer, so copying a `SecretBytes` never copies the secret. It prints as
/// `<16 secret bytes>`, compares in constant time, and is deliberately not `Codable`.
public struct SecretBytes: Sendable, Equatable {
    // Unsafe to the compiler, because a managed buffer cannot be `Sendable`: it is written only inside the initializers,
    // before any other owner exists, and wiped in `deinit`, when none is left. All accesses in between are reads.
    private nonisolated(unsafe) let buffer: Buffer

    /// The number of bytes.
    public var count: Int { self.buffer.header.count }

    /// Creates a secret that `fill` writes straight into its final place, leaving no copy behind.
    ///
    /// The buffer is zeroed before `fill` sees it, and wiped when `fill` throws.
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

    /// Creates a secret from a copy of `bytes`, and lends the memory to `observer` when it has been wiped, for tests of that.
    package init(copying bytes: [UInt8], whenWiped observer: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        self.init(copying: bytes)
        self.buffer.header.observer = observer
    }

    /// Lends the bytes to `body`. Neither the pointer nor a copy of the bytes may outlive the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self.buffer) {} }
        return try body(UnsafeRawBufferPointer(self.buffer.bytes))
    }

    /// Returns whether both hold the same bytes, in a time that does not depend on where they differ.
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
            // `create` is inherited, hence typed as the superclass, but makes an instance of this class.
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

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The length alone.
    public var description: String { "<\(self.count) secret bytes>" }
    /// The length alone.
    public var debugDescription: String { self.description }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
