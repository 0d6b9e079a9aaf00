extension JSONDocument {
    /// Returns the line, from 1, on which a value begins, or the name of an object's member.
    ///
    /// - Parameter place: The path to the value: an element's or member's index per level. If it leads nowhere, the line of the
    ///   last value on the path is returned.
    package func line(at place: [Int]) -> Int {
        var (view, start) = (self.root, self.root.range.lowerBound)
        for number in place {
            if view.isObject, let member = view.members.dropFirst(number).first(where: { _ in true }) {
                (view, start) = (member.value, member.name.range.lowerBound)
            } else if let element = view.elements.dropFirst(number).first(where: { _ in true }) {
                (view, start) = (element, element.range.lowerBound)
            } else {
                break
            }
        }
        return Self.line(ofByte: start, in: self.bytes)
    }

    /// Returns the line, from 1, of a byte.
    package static func line(ofByte offset: Int, in bytes: [UInt8]) -> Int {
        1 + bytes.prefix(max(0, offset)).count { $0 == UInt8(ascii: "\n") }
    }
}
