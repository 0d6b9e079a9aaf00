/// The reason why a `PowerAuth …` header is refused. Names the field, without its value.
package struct HeaderError: Error, Equatable, CustomStringConvertible {
    package enum Problem: String, Sendable {
        case missing
        case invalid
        /// The field must be absent.
        case unexpected
    }

    package let field: String
    package let problem: Problem

    package init(_ field: String, _ problem: Problem) {
        self.field = field
        self.problem = problem
    }

    package var description: String { "header field \(self.field) is \(self.problem.rawValue)" }
}
