import Basics

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

extension CurlTransport {
    /// How the server is authenticated, and this client to it. TLS 1.2 is the least that is spoken.
    public struct TLS: Sendable {
        /// Which server certificates are accepted.
        public var validation: Validation = .system
        /// The only public keys accepted, as `sha256//` and the Base64 of the SHA-256 of the key's
        /// SubjectPublicKeyInfo. One match is enough. Empty means that any key will do.
        ///
        /// Pins are checked in addition to ``validation``, also when that is ``Validation/noValidation``.
        public var pinnedPublicKeys: [String] = []
        /// The certificate that this client shows when the server asks for one.
        public var clientCertificate: ClientCertificate?

        /// Creates the defaults: the system's authorities, no pins, no client certificate.
        public init() {}
    }

    /// Which server certificates are accepted.
    public struct Validation: Sendable, Hashable {
        enum Kind: Hashable { case system, certificateAuthority(file: String), noValidation }

        let kind: Kind

        /// Those issued by an authority of the operating system, for the host of the request.
        public static let system = Self(kind: .system)
        /// Those issued by an authority in a PEM file, for the host of the request.
        public static func certificateAuthority(file: String) -> Self { Self(kind: .certificateAuthority(file: file)) }
        /// Any. For development only: whoever sits between can read and change everything.
        public static let noValidation = Self(kind: .noValidation)
    }

    /// A certificate and its private key, in PEM files.
    public struct ClientCertificate: Sendable, CustomStringConvertible, CustomReflectable {
        /// The path of the certificate, followed by any intermediate ones.
        public var certificateFile: String
        /// The path of the private key.
        public var privateKeyFile: String
        /// What the private key is encrypted with, if it is.
        public var password: String?

        /// Creates a client certificate.
        public init(certificateFile: String, privateKeyFile: String, password: String? = nil) {
            self.certificateFile = certificateFile
            self.privateKeyFile = privateKeyFile
            self.password = password
        }

        /// The path of the certificate, never the password.
        public var description: String { "ClientCertificate(\(self.certificateFile))" }
        /// Nothing to look into: the password must not reach a dump.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CurlTransport.TLS {
    /// Whether something is asked for that only TLS can do.
    var isExplicit: Bool {
        if case .certificateAuthority = self.validation.kind { return true }
        return !self.pinnedPublicKeys.isEmpty || self.clientCertificate != nil
    }

    func validate() throws(HTTPTransportError) {
        if case .certificateAuthority(let file) = self.validation.kind, access(file, R_OK) != 0 {
            throw HTTPTransportError(.invalidConfiguration, detail: "the certificate authority file cannot be read")
        }
        if let certificate = self.clientCertificate {
            guard access(certificate.certificateFile, R_OK) == 0, access(certificate.privateKeyFile, R_OK) == 0 else {
                throw HTTPTransportError(.invalidConfiguration, detail: "the client certificate cannot be read")
            }
        }
        // libcurl compares texts: a malformed pin would match nothing, and the mistake would look like an attack.
        guard self.pinnedPublicKeys.allSatisfy(Self.isPin) else {
            throw HTTPTransportError(.invalidConfiguration, detail: "a pin is sha256// and 44 characters of Base64")
        }
    }

    private static func isPin(_ text: String) -> Bool {
        let prefix = "sha256//"
        guard text.hasPrefix(prefix) else { return false }
        let digest = text.utf8.dropFirst(prefix.utf8.count)
        return digest.count == 44 && digest.last == UInt8(ascii: "=")
            && digest.dropLast().allSatisfy { $0.isASCIILetterOrDigit || "+/".utf8.contains($0) }
    }
}
