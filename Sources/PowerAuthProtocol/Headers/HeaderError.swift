/// The reason why a `PowerAuth …` header is refused. Names the field, never its value.
package struct HeaderError: Error, Equatable, CustomStringConvertible {
    /// A mistake in a field.
    package enum Problem: String, Sendable {
        /// The field is missing.
        case missing
        /// The value does not have the required form.
        case invalid
        /// The field is there although it must not be.
        case unexpected
    }

    /// The name of the field as it stands in the header.
    package let field: String
    /// The mistake in it.
    package let problem: Problem

    package init(_ field: String, _ problem: Problem) {
        self.field = field
        self.problem = problem
    }

    package var description: String { "header field \(self.field) is \(self.problem.rawValue)" }
}
