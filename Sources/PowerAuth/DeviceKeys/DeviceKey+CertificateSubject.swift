extension DeviceKey {
    /// The subject of a certificate request: a name, and other names that the certificate is to hold.
    ///
    /// ```swift
    /// let subject: DeviceKey.CertificateSubject = ["CN": "approval bot", "O": "Example Bank", "C": "CZ"]
    /// ```
    public struct CertificateSubject: Sendable, ExpressibleByDictionaryLiteral {
        /// The parts of the name in their order, each with its type: a short name such as `CN`, a long one such as `commonName`, or an
        /// object identifier.
        public var name: [(type: String, value: String)]
        /// Other names: none by default.
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

        /// Another name of the subject.
        public enum AlternativeName: Sendable, Hashable {
            /// The name of a host.
            case hostName(String)
            /// An IPv4 or IPv6 address.
            case address(String)
            /// An address for mail.
            case email(String)
            /// A URI.
            case uri(String)
        }
    }
}
