extension OfflineOperation {
    /// The reason the string of an offline QR code is not an operation that may be shown.
    ///
    /// It says nothing of the content, so it may be logged.
    public struct ParsingError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kind of mistake. A struct, so that a new kind breaks no caller's `switch`.
        public struct Code: Sendable, Hashable, CustomStringConvertible {
            /// The name of the kind.
            public let description: String

            private init(_ description: String) { self.description = description }

            /// The bytes are not UTF-8.
            public static let invalidText = Self("invalidText")
            /// There are fewer than seven lines.
            public static let missingLine = Self("missingLine")
            /// The identifier is blank, or has control characters or a byte-order mark.
            public static let invalidOperationID = Self("invalidOperationID")
            /// The operation data do not begin with a version and a template, such as `A1`, or have control characters or a
            /// byte-order mark.
            public static let invalidOperationData = Self("invalidOperationData")
            /// The operation data have more than five fields.
            public static let tooManyFields = Self("tooManyFields")
            /// An amount is not a number and a currency of three letters.
            public static let invalidAmount = Self("invalidAmount")
            /// An account is not an IBAN with or without a BIC.
            public static let invalidAccount = Self("invalidAccount")
            /// A date is not a day in the form `yyyyMMdd`.
            public static let invalidDate = Self("invalidDate")
            /// The nonce is not 16 bytes in Base64.
            public static let invalidNonce = Self("invalidNonce")
            /// The signature is not a key's number and a signature in Base64.
            public static let malformedSignature = Self("malformedSignature")
            /// The signature is not the server's.
            public static let signatureMismatch = Self("signatureMismatch")
        }

        /// The kind of mistake.
        public let code: Code
        /// The line it is in, from 1; of a missing line, the number it would have.
        public let line: Int?
        /// The field of the operation data it is in, from 1.
        public let field: Int?

        init(_ code: Code, line: Int? = nil, field: Int? = nil) {
            self.code = code
            self.line = line
            self.field = field
        }

        /// The kind and the place.
        public var description: String {
            var text = "offline operation: \(self.code)"
            if let line { text += " in line \(line)" }
            if let field { text += ", field \(field)" }
            return text
        }
    }
}
