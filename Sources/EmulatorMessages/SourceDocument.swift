import Basics
package import ExactJSON

/// A JSON document that a person wrote, such as a template, whose mistakes are found by their lines.
package struct SourceDocument: Sendable {
    package let value: JSONValue
    private let document: JSONDocument

    /// A mistake, and where it is.
    package struct Mistake: Error, Equatable, CustomStringConvertible {
        /// From 1.
        package let line: Int
        package let message: String

        package var description: String { "line \(self.line): \(self.message)" }
    }

    /// Reads a document of a form.
    ///
    /// - Throws: What is wrong first. No object may have a member twice, also where the form leaves members open.
    package init(parsing bytes: [UInt8], as schema: Schema) throws(Mistake) {
        do {
            self.document = try JSONDocument(parsing: bytes, limits: JSONLimits(maximumDepth: 64))
            self.value = try JSONValue(self.document.root)
        } catch {
            throw Mistake(line: JSONDocument.line(ofByte: error.offset, in: bytes), message: error.description)
        }
        if let objection = schema.mistake(in: self.value) ?? Self.repetition(in: self.value, at: []) {
            throw self.mistake(objection.message, at: objection.place)
        }
    }

    /// Returns a mistake that the form did not show.
    ///
    /// - Parameter place: The way to the value: the number of the element or member at each level.
    package func mistake(_ message: String, at place: [Int]) -> Mistake {
        Mistake(line: self.document.line(at: place), message: message)
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
