package import APIDescriptions
import Basics
package import ExactJSON

/// A JSON document written by a person, such as a template, with mistakes located by line.
package struct SourceDocument: Sendable {
    package let value: JSONValue
    private let document: JSONDocument

    /// Reads a document of a form.
    ///
    /// - Throws: The first mistake. Repeated members are always refused, even if the form allows any members.
    package init(parsing bytes: [UInt8], as schema: Schema) throws(DocumentMistake) {
        do {
            self.document = try JSONDocument(parsing: bytes, limits: JSONLimits(maximumDepth: 64))
            self.value = try JSONValue(self.document.root)
        } catch {
            throw DocumentMistake(error.description, line: JSONDocument.line(ofByte: error.offset, in: bytes))
        }
        if let objection = schema.mistake(in: self.value) ?? Self.repetition(in: self.value, at: []) {
            throw self.mistake(objection.message, at: objection.place)
        }
    }

    /// Returns a mistake beyond the form.
    ///
    /// - Parameter place: The path to the value: the index at each level.
    package func mistake(_ message: String, at place: [Int]) -> DocumentMistake {
        DocumentMistake(message, at: place, line: self.document.line(at: place))
    }

    private static func repetition(in value: JSONValue, at place: [Int]) -> Schema.Objection? {
        let name = value.object?.duplicateKeys.first
        if let name, let last = value.object?.members.lastIndex(where: { $0.key.isExactly(name) }) {
            return Schema.Objection(member: name, hint: "is given twice", place: place + [last])
        }
        for (index, inner) in (value.array ?? value.object?.members.map(\.value) ?? []).enumerated() {
            if let found = self.repetition(in: inner, at: place + [index]) { return found }
        }
        return nil
    }
}

/// A mistake in a person's document, such as a template that is unusable, or unusable with these parameters.
package struct DocumentMistake: Error, Equatable, CustomStringConvertible {
    /// The mistake in words, after its line number if that is known.
    package let message: String
    /// The path to the mistake: the index at each level.
    package var place: [Int]
    /// The mistake in a placeholder's value; `nil` for one in the document itself.
    package private(set) var objection: Schema.Objection?

    /// Creates the mistake in a placeholder's value.
    package init(_ objection: Schema.Objection) {
        self.init(objection.message)
        self.objection = objection
    }

    /// - Parameter line: The line, from 1; `nil` while only the path is known.
    package init(_ message: String, at place: [Int] = [], line: Int? = nil) {
        self.message = line.map { "line \($0): \(message)" } ?? message
        self.place = place
    }

    package var description: String { self.message }

    /// Returns the mistake with the path of the containing value.
    package func inside(_ place: [Int]) -> Self {
        var mistake = self
        mistake.place = place + self.place
        return mistake
    }
}
