import SignedContent

extension OfflineOperation {
    /// The reason an offline QR code cannot be shown as an operation.
    ///
    /// It contains nothing of the code's content, so it may be logged.
    public struct ParsingError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kind of error. A struct, so that a new kind breaks no caller's `switch`.
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
            /// The operation data lack a version and a template, such as `A1`, or have control characters or a byte-order mark.
            public static let invalidOperationData = Self("invalidOperationData")
            /// The operation data have more than five fields.
            public static let tooManyFields = Self("tooManyFields")
            /// An amount is not a number with a three-letter currency.
            public static let invalidAmount = Self("invalidAmount")
            /// An account is not an IBAN with an optional BIC.
            public static let invalidAccount = Self("invalidAccount")
            /// A date is not a day in the form `yyyyMMdd`.
            public static let invalidDate = Self("invalidDate")
            /// The nonce is not 16 bytes in Base64.
            public static let invalidNonce = Self("invalidNonce")
            /// The signature is not a key number followed by a Base64 signature.
            public static let malformedSignature = Self("malformedSignature")
            /// The server did not make the signature.
            public static let signatureMismatch = Self("signatureMismatch")
        }

        /// The kind of error.
        public let code: Code
        /// The line of the error, from 1; for a missing line, the number it would have.
        public let line: Int?
        /// The field of the operation data, from 1.
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

extension OfflineOperation.ParsingError.Code {
    init(_ kind: DataFields.Mistake.Kind) {
        self =
            switch kind {
            case .form: .invalidOperationData
            case .count: .tooManyFields
            case .amount: .invalidAmount
            case .account: .invalidAccount
            case .date: .invalidDate
            }
    }
}
