extension DeviceKey {
    /// The subject of a certificate request: its name and alternative names.
    ///
    /// ```swift
    /// let subject: DeviceKey.CertificateSubject = ["CN": "approval bot", "O": "Example Bank", "C": "CZ"]
    /// ```
    public struct CertificateSubject: Sendable, ExpressibleByDictionaryLiteral {
        /// The parts of the name in order. A type is a short name such as `CN`, a long one such as `commonName`, or an object
        /// identifier.
        public var name: [(type: String, value: String)]
        /// Alternative names. Default: none.
        public var alternativeNames: [AlternativeName]

        /// Creates a subject.
        public init(name: [(type: String, value: String)], alternativeNames: [AlternativeName] = []) {
            self.name = name
            self.alternativeNames = alternativeNames
        }

        /// Creates a subject from the parts of its name.
        public init(dictionaryLiteral elements: (String, String)...) {
            self.init(name: elements.map { (type: $0.0, value: $0.1) })
        }

        /// An alternative name of the subject.
        public enum AlternativeName: Sendable, Hashable {
            /// A host name.
            case hostName(String)
            /// An IPv4 or IPv6 address.
            case address(String)
            /// An email address.
            case email(String)
            /// A URI.
            case uri(String)
        }
    }
}
