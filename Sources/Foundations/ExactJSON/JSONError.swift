/// The reason and the place of invalid JSON. It reveals no content, so it may be logged.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A kind of mistake.
    public enum Reason: String, Sendable, Hashable {
        /// A disallowed byte, such as a comma before `]`.
        case unexpectedCharacter
        /// The end of the document inside a value.
        case unexpectedEnd
        /// Invalid UTF-8.
        case invalidUTF8
        /// An invalid escape.
        case invalidEscape
        /// A `\uD800` to `\uDFFF` escape that is not half of a surrogate pair, so that the string is not valid Unicode.
        case unpairedSurrogate
        /// An invalid number, such as `01`, `1.` or `+1`.
        case invalidNumber
        /// A control character inside a string.
        case controlCharacter
        /// More nested arrays and objects than ``JSONLimits/maximumDepth``.
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

    /// A description with the mistake and the offset.
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
