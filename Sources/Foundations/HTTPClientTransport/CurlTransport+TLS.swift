import Basics

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

extension CurlTransport {
    /// The authentication of the server and of this client. TLS 1.2 is the minimum.
    public struct TLS: Sendable {
        /// The accepted server certificates.
        public var validation: Validation = .system
        /// The accepted public keys, each as `sha256//` and the Base64 of the SHA-256 of the key's SubjectPublicKeyInfo. One
        /// match suffices. Default: empty, which accepts any key.
        ///
        /// Pins are checked in addition to ``validation``, even with ``Validation/noValidation``.
        public var pinnedPublicKeys: [String] = []
        /// The certificate to present when the server requests one.
        public var clientCertificate: ClientCertificate?

        /// Creates the defaults: the system's authorities, no pins, no client certificate.
        public init() {}
    }

    /// A rule for server certificates.
    public struct Validation: Sendable, Hashable {
        enum Kind: Hashable { case system, certificateAuthority(file: String), noValidation }

        let kind: Kind

        /// Accepts certificates for the request's host from an authority of the operating system.
        public static let system = Self(kind: .system)
        /// Accepts certificates for the request's host from an authority in a PEM file.
        public static func certificateAuthority(file: String) -> Self { Self(kind: .certificateAuthority(file: file)) }
        /// Accepts any certificate. For development only: an attacker on the network path can read and change everything.
        public static let noValidation = Self(kind: .noValidation)
    }

    /// A certificate and its private key, in PEM files.
    public struct ClientCertificate: Sendable, CustomStringConvertible, CustomReflectable {
        /// The path of the certificate and any intermediate ones.
        public var certificateFile: String
        /// The path of the private key.
        public var privateKeyFile: String
        /// The password of the private key; `nil` if it is not encrypted.
        public var password: String?

        /// Creates a client certificate.
        public init(certificateFile: String, privateKeyFile: String, password: String? = nil) {
            self.certificateFile = certificateFile
            self.privateKeyFile = privateKeyFile
            self.password = password
        }

        /// The path of the certificate, without the password.
        public var description: String { "ClientCertificate(\(self.certificateFile))" }
        /// Empty, so that `dump` does not reveal the password.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CurlTransport.TLS {
    /// Indicates whether there is an option that requires TLS.
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
        // libcurl compares strings: a malformed pin would match nothing and look like an attack.
        guard self.pinnedPublicKeys.allSatisfy(Self.isPin) else {
            throw HTTPTransportError(.invalidConfiguration, detail: "a pin is sha256// and 44 characters of Base64")
        }
    }

    private static func isPin(_ string: String) -> Bool {
        let prefix = "sha256//".utf8
        guard string.utf8.starts(with: prefix) else { return false }
        let digest = string.utf8.dropFirst(prefix.count)
        return digest.count == 44 && digest.last == UInt8(ascii: "=")
            && digest.dropLast().allSatisfy { $0.isASCIILetterOrDigit || "+/".utf8.contains($0) }
    }
}
