package import ExactJSON

/// The rule for names that an application gives to tokens and activations.
package enum NameRule {
    /// The maximum of UTF-8 bytes that servers store for an activation's name.
    static let maximumByteCount = 255

    /// Refuses a name that cannot be stored or displayed unchanged.
    ///
    /// - Parameter kind: The kind of the named object, for the message.
    /// - Throws: ``MobileTokenError/Code/invalidName``.
    package static func check(_ name: String, of kind: StaticString) throws(MobileTokenError) {
        guard (1...Self.maximumByteCount).contains(name.utf8.count) else {
            throw MobileTokenError(
                .invalidName,
                "The name of \(kind) must have 1 to \(Self.maximumByteCount) bytes of UTF-8"
            )
        }
        guard !name.unicodeScalars.contains(where: Self.isControl) else {
            throw MobileTokenError(
                .invalidName,
                "The name of \(kind) must not contain a control character or a line break"
            )
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// The rule for other texts that servers keep: what is too long for the column of a database, or holds a NUL, is refused there without
/// a word of what is wrong, and a code may be used by then.
package enum TextRule {
    /// Refuses a text that servers cannot keep.
    ///
    /// - Parameters:
    ///   - parameter: The name of the parameter, for the message.
    ///   - limit: The maximum number of Unicode scalars.
    /// - Throws: ``MobileTokenError/Code/invalidRequest``.
    package static func check(_ text: String?, of parameter: StaticString, atMost limit: Int = .max)
        throws(MobileTokenError)
    {
        guard let text else { return }
        guard text.unicodeScalars.count <= limit else {
            throw MobileTokenError(.invalidRequest, "\(parameter): at most \(limit) characters")
        }
        if text.utf8.contains(0) { throw Self.holdsNUL("\(parameter)") }
    }

    /// Refuses members with strings that servers cannot keep.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest``.
    package static func check(_ members: JSONObject) throws(MobileTokenError) {
        for member in members.members where member.value.containsNUL { throw Self.holdsNUL(member.key) }
    }

    private static func holdsNUL(_ parameter: String) -> MobileTokenError {
        MobileTokenError(.invalidRequest, "\(parameter): the character NUL cannot be kept")
    }
}
