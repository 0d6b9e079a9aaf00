internal import COpenSSL

/// Key bytes that are wiped when their last owner goes.
///
/// Copies of the value share one buffer, so copying a `SecretBytes` never copies the secret. It prints as
/// `<16 secret bytes>`, compares in constant time, and is deliberately not `Codable`.
public struct SecretBytes: Sendable, Equatable {
    private let buffer: Buffer

    /// The number of bytes.
    public var count: Int { self.buffer.bytes.count }

    /// Creates a secret that `fill` writes straight into its final home, leaving no copy behind.
    ///
    /// The buffer is zeroed before `fill` sees it; when `fill` throws, nothing is left.
    public init<Failure: Error>(
        count: Int,
        initializingWith fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let buffer = Buffer(count: count)
        try fill(buffer.bytes)
        self.buffer = buffer
    }

    /// Copies bytes; the caller's own copy stays the caller's to wipe.
    public init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// The UTF-8 bytes of a text, such as a password as it was typed.
    public init(utf8 text: String) {
        self.init(copying: text.utf8)
    }

    /// Lends the bytes to `body`. Do not let the pointer, or a copy of the bytes, outlive the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(self.buffer.bytes))
    }

    /// Whether both hold the same bytes. Takes the same time wherever they differ.
    public static func == (one: Self, other: Self) -> Bool {
        one.count == other.count
            && CRYPTO_memcmp(one.buffer.bytes.baseAddress, other.buffer.bytes.baseAddress, one.count) == 0
    }

    private final class Buffer: Sendable {
        // Written only inside `init(count:initializingWith:)`, before any other owner exists, and wiped in `deinit`,
        // when none is left: all reads in between are of constant memory.
        nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

        init(count: Int) {
            self.bytes = .allocate(byteCount: count, alignment: 16)
            self.bytes.initializeMemory(as: UInt8.self, repeating: 0)
        }

        deinit {
            OPENSSL_cleanse(self.bytes.baseAddress, self.bytes.count)
            self.bytes.deallocate()
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The length alone.
    public var description: String { "<\(self.count) secret bytes>" }
    /// The length alone.
    public var debugDescription: String { self.description }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
