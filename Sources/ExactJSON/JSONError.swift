/// Why bytes are not the JSON that was asked for, and where.
///
/// It says nothing of the content, so it may be logged.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Reason: String, Sendable, Hashable {
        /// A byte that the grammar does not allow here, such as a comma before `]`.
        case unexpectedCharacter
        /// The text ends inside a value.
        case unexpectedEnd
        /// A byte sequence that is not UTF-8.
        case invalidUTF8
        /// A backslash that no escape follows.
        case invalidEscape
        /// A `\uD800` to `\uDFFF` that is not one half of a pair: no text can hold it.
        case unpairedSurrogate
        /// A number such as `01`, `1.` or `+1`.
        case invalidNumber
        /// A control character inside a string.
        case controlCharacter
        /// More levels of arrays and objects than ``JSONLimits/maximumDepth``.
        case tooDeep
        /// More bytes than ``JSONLimits/maximumByteCount``, or more values than ``JSONLimits/maximumValueCount``.
        case tooLarge
    }

    /// The kind of mistake.
    public let reason: Reason
    /// The offset of the first offending byte.
    public let offset: Int

    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason and the offset.
    public var description: String { "JSON: \(self.reason.rawValue) at byte \(self.offset)" }
}

/// How much JSON a parser takes before it refuses.
public struct JSONLimits: Sendable, Hashable {
    /// How many bytes a text may have.
    public let maximumByteCount: Int
    /// How many arrays and objects may lie inside one another.
    public let maximumDepth: Int
    /// How many values and names a text may hold, since `0,0,…` costs far more memory as values than as text.
    public let maximumValueCount: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - maximumByteCount: At most 1 GiB, because the index of a text counts in 32 bits.
    ///   - maximumDepth: At most 512, because values are built and freed by recursion.
    ///   - maximumValueCount: Every value counts, and in objects every name as well.
    public init(maximumByteCount: Int = 32 << 20, maximumDepth: Int = 128, maximumValueCount: Int = 4 << 20) {
        self.maximumByteCount = min(maximumByteCount, 1 << 30)
        self.maximumDepth = min(maximumDepth, 512)
        self.maximumValueCount = maximumValueCount
    }
}
