import EmulatorHTTP
import Foundation
import PowerAuthCrypto

extension Emulator {
    /// Indicates whether the server speaks TLS, and with which certificate.
    public struct TLS: Sendable, Hashable {
        enum Kind: Hashable { case disabled, selfSigned }

        let kind: Kind

        /// Plain HTTP.
        public static let disabled = Self(kind: .disabled)
        /// HTTPS, with a key and a certificate that are made at the start and gone at the end: ``Emulator/certificate``.
        ///
        /// With ``Configuration/seed`` the key, and so the pin, is the same at each start.
        public static let selfSigned = Self(kind: .selfSigned)
    }

    /// The certificate that a client needs to trust this server and no other.
    public struct Certificate: Sendable, Hashable {
        /// The certificate in PEM: self-signed, P-256, for `localhost`, `127.0.0.1`, `::1` and the address that the
        /// server is bound to; for a server bound to all addresses, for those of the machine.
        public let pem: String
        /// The path of a file that holds ``pem``, for clients that read their authorities from one. It is gone when the
        /// server has stopped.
        public let file: String
        /// The public key as clients pin it: `sha256//` and the Base64 of the SHA-256 of its SubjectPublicKeyInfo.
        public let publicKeyPin: String
    }
}

/// The certificate of one server, in a file that lives as long as this object.
final class CertificateFile: Sendable {
    let certificate: Emulator.Certificate

    init(_ certificate: SelfSignedCertificate) throws(EmulatorError) {
        let name = "mobile-token-emulator-\(UUID().uuidString).pem"
        let url = FileManager.default.temporaryDirectory.appending(path: name)
        do {
            try Data(certificate.pem.utf8).write(to: url, options: .withoutOverwriting)
        } catch {
            throw EmulatorError(.storage, "The certificate cannot be written to '\(url.path)'")
        }
        self.certificate = .init(pem: certificate.pem, file: url.path, publicKeyPin: certificate.publicKeyPin)
    }

    deinit { self.remove() }

    func remove() { unlink(self.certificate.file) }
}

extension SelfSignedCertificate {
    /// The certificate of a server that is bound to `host`, valid from yesterday, for clocks that are behind, for a year.
    static func server(boundTo host: String, key: P256PrivateKey) throws(EmulatorError) -> Self {
        var addresses = ["127.0.0.1", "::1"]
        switch host {
        case "localhost": break
        case "0.0.0.0", "::": addresses += InterfaceAddresses.all
        default: addresses.append(host)
        }
        var seen: Set<String> = []
        let now = Int(Date().timeIntervalSince1970)
        do {
            return try Self(
                for: key,
                name: "Mobile Token Emulator",
                hostNames: ["localhost"],
                addresses: addresses.filter { seen.insert($0).inserted },
                validity: (now - 86_400)...(now + 365 * 86_400)
            )
        } catch {
            throw EmulatorError(.cannotListen, "A certificate for \(host) cannot be made")
        }
    }
}
