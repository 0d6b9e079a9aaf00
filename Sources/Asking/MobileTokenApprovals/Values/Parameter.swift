import Basics
import Foundation

extension ApprovalRequest {
    /// The value of a parameter, which a person sees on the phone and signs.
    ///
    /// Similar letters deceive, so a value is printable ASCII unless it is declared as text.
    public enum Parameter: Sendable, Hashable, ExpressibleByStringLiteral {
        /// Printable ASCII.
        case ascii(String)
        /// Text in any script, composed (NFC), without invisible characters or those that change the order of others.
        case text(String)

        /// Creates a value of printable ASCII.
        public init(stringLiteral value: String) { self = .ascii(value) }

        /// The string of either kind.
        public var string: String {
            switch self {
            case .ascii(let string), .text(let string): string
            }
        }

        static let maximumByteCount = 255

        /// Throws if the value may deceive the person who sees it.
        ///
        /// - Parameter name: The parameter's name, for the error. The value is not quoted.
        func check(name: String) throws(ApprovalError) {
            guard let objection = self.objection else { return }
            throw ApprovalError(.invalidRequest, "The parameter '\(name)' \(objection)")
        }

        private var objection: String? {
            let string = self.string
            if string.utf8.count > Self.maximumByteCount { return "has more than \(Self.maximumByteCount) bytes" }
            // Real servers fill values again.
            if string.contains("${") || string.contains("@{") {
                return "holds '${' or '@{', which the server would fill"
            }
            switch self {
            case .ascii:
                guard string.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                    return "holds more than printable ASCII: declare it as .text if it is meant to"
                }
            case .text:
                guard string.precomposedStringWithCanonicalMapping.isExactly(string) else {
                    return "is not composed (NFC)"
                }
                guard string.unicodeScalars.allSatisfy(Self.isVisible) else {
                    return "holds characters that are invisible, private, or steer those around them"
                }
                // It would change the character before the value.
                if let first = string.unicodeScalars.first, first.properties.generalCategory.isMark {
                    return "begins with a mark that would join what stands before it"
                }
                let scalars = string.unicodeScalars
                if scalars.contains(where: DisplayText.isRightToLeft),
                    scalars.contains(where: { $0.properties.numericType != nil })
                {
                    return
                        "has digits beside letters that are written from right to left, which move them: give two parameters"
                }
            }
            return nil
        }

        /// Returns whether the character is visible and does not affect its neighbors.
        static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
            guard !DisplayText.isUnsafe(scalar), !scalar.properties.isDefaultIgnorableCodePoint else { return false }
            switch scalar.properties.generalCategory {
            case .spaceSeparator: return scalar == " "
            case .privateUse, .unassigned: return false
            default: return !DisplayText.isBlank(scalar)
            }
        }
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isMark: Bool { [.nonspacingMark, .spacingMark, .enclosingMark].contains(self) }
}
