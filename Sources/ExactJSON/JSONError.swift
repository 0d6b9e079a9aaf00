/// The reason why bytes are not valid JSON, and where.
///
/// It reveals nothing of the content, so it may be logged.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A kind of mistake.
    public enum Reason: String, Sendable, Hashable {
        /// A byte that is not allowed here, such as a comma before `]`.
        case unexpectedCharacter
        /// The document ends inside a value.
        case unexpectedEnd
        /// A byte sequence that is not UTF-8.
        case invalidUTF8
        /// A backslash that does not begin a valid escape.
        case invalidEscape
        /// An escape from `\uD800` to `\uDFFF` that is not half of a surrogate pair, so that the string is no valid Unicode.
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

    /// The mistake and the offset in words.
    public var description: String { "JSON: \(self.mistake) at byte \(self.offset)" }

    private var mistake: String {
        switch self.reason {
        case .unexpectedCharacter: "unexpected character"
        case .unexpectedEnd: "unexpected end"
        case .invalidUTF8: "invalid UTF-8"
        case .invalidEscape: "invalid escape"
        case .unpairedSurrogate: "half a surrogate pair"
        case .invalidNumber: "invalid number"
        case .controlCharacter: "control character in a string"
        case .tooDeep: "nested too deeply"
        case .tooLarge: "too large"
        }
    }
}
