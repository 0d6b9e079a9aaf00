import Basics

/// A part of the server's JSON that could not be read, with its content.
///
/// Members that a decision rests on are read exactly or refused, so one issue may cost a whole operation. Members that are only
/// shown are left out, so another may cost a single string.
public struct DecodingIssue: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason a part could not be read.
    package enum Reason: Sendable, Hashable, CustomStringConvertible {
        /// A required member is missing.
        case missing
        /// A required member is `null`.
        case null
        /// A member is repeated, so its meaning would depend on the reader.
        case repeated
        /// The value does not have the documented form.
        case unreadable(expected: String)

        /// The reason in words.
        package var description: String {
            switch self {
            case .missing: "missing"
            case .null: "null"
            case .repeated: "given more than once"
            case .unreadable(let expected): "not \(expected)"
            }
        }
    }

    /// The place in the response, such as `responseObject[3].formData.attributes[0].label`.
    public let path: String
    /// The reason it could not be read.
    package let reason: Reason
    /// The JSON found there, unchanged, at most its first 16 KiB; empty if there was none.
    public let json: [UInt8]

    /// Creates an issue.
    package init(path: String, reason: Reason, json: [UInt8] = []) {
        self.path = path
        self.reason = reason
        self.json = json
    }

    /// The path and the reason, without the content.
    public var description: String { "\(DisplayText.escaped(self.path)): \(self.reason)" }
}
