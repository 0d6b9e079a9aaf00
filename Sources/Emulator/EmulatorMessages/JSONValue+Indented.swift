package import ExactJSON

extension JSONValue {
    /// Returns the JSON on several lines.
    ///
    /// - Parameter separator: The characters between a name and its value.
    package func indented(by depth: Int = 0, separator: String = ": ") -> String {
        let (inner, outer) = (String(repeating: "  ", count: depth + 1), String(repeating: "  ", count: depth))
        let (lines, brackets): ([String], (String, String))
        switch self {
        case .object(let object):
            brackets = ("{", "}")
            lines = object.members.map { member in
                Self.string(member.key).plain + separator + member.value.indented(by: depth + 1, separator: separator)
            }
        case .array(let elements):
            brackets = ("[", "]")
            lines = elements.map { $0.indented(by: depth + 1, separator: separator) }
        default: return self.plain
        }
        guard !lines.isEmpty else { return self.plain }
        return "\(brackets.0)\n\(lines.map { inner + $0 }.joined(separator: ",\n"))\n\(outer)\(brackets.1)"
    }

    /// The JSON on one line.
    package var plain: String { String(decoding: self.serialized(), as: UTF8.self) }
}
