/// The rule for names that an application gives to tokens and activations.
enum NameRule {
    /// The most bytes of UTF-8; what servers keep of an activation's name.
    static let maximumByteCount = 255

    /// Refuses a name that could not be kept, or shown, as it is.
    ///
    /// - Parameter kind: The kind of thing that is named, for the message.
    /// - Throws: ``MobileTokenError/Code/invalidName``.
    static func check(_ name: String, of kind: StaticString) throws(MobileTokenError) {
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
