/// Limits on the JSON that a parser accepts.
public struct JSONLimits: Sendable, Hashable {
    /// The maximum number of bytes in a document.
    public let maximumByteCount: Int
    /// The maximum depth of nested arrays and objects.
    public let maximumDepth: Int
    /// The maximum number of values and names in a document, because `0,0,…` takes far more memory as values than as bytes.
    public let maximumValueCount: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - maximumByteCount: At most 1 GiB, because the index counts in 32 bits.
    ///   - maximumDepth: At most 512, because values are built and freed recursively.
    ///   - maximumValueCount: Counts all values, and the names of members.
    public init(maximumByteCount: Int = 32 << 20, maximumDepth: Int = 128, maximumValueCount: Int = 4 << 20) {
        self.maximumByteCount = min(maximumByteCount, 1 << 30)
        self.maximumDepth = min(maximumDepth, 512)
        self.maximumValueCount = maximumValueCount
    }
}
