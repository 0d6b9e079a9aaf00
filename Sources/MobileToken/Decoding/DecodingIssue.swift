import Basics
import PowerAuthProtocol

/// A part of the server's JSON that could not be read, and what stood there.
///
/// What a decision rests on is read exactly or refused, so one issue may cost a whole operation; what is only shown is
/// left out, so another may cost a single string.
public struct DecodingIssue: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason a part could not be read.
    public enum Reason: Sendable, Hashable, CustomStringConvertible {
        /// A required member is not there.
        case missing
        /// A required member is `null`.
        case null
        /// A member is there more than once, so its meaning would depend on who reads it.
        case repeated
        /// The value is not of the documented form.
        case unreadable(expected: String)

        /// The reason in words.
        public var description: String {
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
    public let reason: Reason
    /// The JSON that stood there, as it came, or the first 16 KiB of it; empty when nothing did.
    public let json: [UInt8]

    /// Creates an issue.
    public init(path: String, reason: Reason, json: [UInt8] = []) {
        self.path = path
        self.reason = reason
        self.json = json
    }

    /// The path and the reason, without the content.
    public var description: String { "\(DisplayText.escaped(self.path)): \(self.reason)" }
}
