import Foundation
public import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

/// One of a device's keys.
public enum DeviceKey: Sendable, Hashable {
    /// The ECDSA key, which every activation has: P-256 in protocol version 3, P-384 in version 4.
    case ecdsa
    /// The ML-DSA key of a hybrid suite.
    case mldsa
}

extension DeviceKey {
    /// The form of a JSON web signature.
    public enum WebSignatureForm: Sendable, Hashable {
        /// Three parts joined by dots, signed with one key: `ES256`, `ES384`, `ML-DSA-65` or `ML-DSA-87`.
        case compact(DeviceKey)
        /// A JSON object with signatures of all keys of the device.
        case general
    }
}

/// Signatures by the device's own keys. The vault is unlocked for the duration of the call.
extension Activation {
    /// Makes a certificate request (PKCS#10) for one of the device's keys, signed by that key.
    ///
    /// ```swift
    /// let request = try await activation.certificateRequest(
    ///     for: ["CN": "approval bot", "O": "Example Bank"],
    ///     with: .possessionAndKnowledge(password: password)
    /// )
    /// print(request.pem)
    /// ```
    ///
    /// - Parameters:
    ///   - subject: The names in the certificate.
    ///   - key: The key to certify.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Sent to the server.
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for an invalid subject name, before the vault is unlocked;
    ///   ``MobileTokenError/Code/notSupported`` for a key that the activation does not have.
    public func certificateRequest(
        for subject: DeviceKey.CertificateSubject,
        by key: DeviceKey = .ecdsa,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> DeviceKey.CertificateRequest {
        try self.check(key)
        try subject.check()
        return try await self.withDeviceKeys(authentication, reason: reason.rawValue) { keys in
            try DeviceKey.CertificateRequest(der: keys.certificateRequest(subject, by: key).der)
        }
    }

    /// Signs a payload as a JSON web signature (RFC 7515).
    ///
    /// - Parameters:
    ///   - payload: The bytes to sign.
    ///   - type: The `typ` header, such as `JWT`. Default: none.
    ///   - form: Default: compact, signed with the ECDSA key.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Sent to the server.
    /// - Throws: ``MobileTokenError/Code/notSupported`` for a key that the activation does not have.
    public func deviceWebSignature(
        of payload: [UInt8],
        type: String? = nil,
        form: DeviceKey.WebSignatureForm = .compact(.ecdsa),
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> String {
        if case .compact(let key) = form { try self.check(key) }
        return try await self.withDeviceKeys(authentication, reason: reason.rawValue) { keys in
            try keys.webSignature(of: payload, type: type, form: form)
        }
    }

    /// Signs claims as a JSON web token (RFC 7519): `ES256` in protocol version 3, `ES384` in version 4.
    ///
    /// - Parameters:
    ///   - claims: A value that encodes as a JSON object.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Sent to the server.
    /// - Throws: `EncodingError` for claims that cannot be encoded as JSON.
    public func deviceWebToken(
        of claims: some Encodable,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .secondsSince1970  // as tokens count
        let payload = Array(try encoder.encode(claims))
        return try await self.deviceWebSignature(of: payload, type: "JWT", with: authentication, reason: reason)
    }

    private nonisolated func check(_ key: DeviceKey) throws(MobileTokenError) {
        guard key == .ecdsa || self.suite?.signatureScheme != nil else { throw .noMLDSAKey }
    }
}

extension DeviceKey {
    /// A certificate request, signed by the device.
    public struct CertificateRequest: Sendable, Hashable {
        /// The request in DER.
        public let der: [UInt8]
        /// The request in PEM.
        public let pem: String

        fileprivate init(der: [UInt8]) throws {
            self.der = der
            self.pem = try DER.pem(der, label: "CERTIFICATE REQUEST")
        }
    }
}

extension DeviceKey.CertificateSubject {
    /// Throws for invalid subject names. A temporary key signs the request, so that the vault is not unlocked in vain.
    fileprivate func check() throws(MobileTokenError) {
        do {
            _ = try DevicePrivateKeys.version3(.generate()).certificateRequest(self, by: .ecdsa)
        } catch let error as CryptoError where error.code == .invalidName {
            throw MobileTokenError(.invalidRequest, "A certificate cannot have such a name", underlying: error)
        } catch {
            throw MobileTokenError(.cryptographyFailed, "A cryptographic operation failed", underlying: error)
        }
    }
}
