import EmulatorHTTP
import Foundation
import PowerAuthCrypto

extension Emulator {
    /// The TLS mode of the server.
    public struct TLS: Sendable, Hashable {
        enum Kind: Hashable { case disabled, selfSigned }

        let kind: Kind

        /// Plain HTTP.
        public static let disabled = Self(kind: .disabled)
        /// HTTPS with a key and a certificate generated at the start and removed at the end: ``Emulator/certificate``.
        ///
        /// With ``Configuration/seed`` the key and its pin are the same at each start.
        public static let selfSigned = Self(kind: .selfSigned)
    }

    /// The certificate with which a client trusts only this server.
    public struct Certificate: Sendable, Hashable {
        /// The self-signed P-256 certificate in PEM, for `localhost`, `127.0.0.1`, `::1` and the bound address; if bound to all
        /// addresses, for those of the machine.
        public let pem: String
        /// The path of a file with ``pem``, for clients that read authorities from one. It is removed when the server stops.
        public let file: String
        /// The public key pin for clients: `sha256//` and the Base64 of the SHA-256 of its SubjectPublicKeyInfo.
        public let publicKeyPin: String
    }
}

/// A server's certificate, in a file that lives as long as this object.
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
    /// The certificate of a server bound to `host`, valid for a year from yesterday, for slow clocks.
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
