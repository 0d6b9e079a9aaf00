import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// One of a device's keys.
public enum DeviceKey: Sendable, Hashable {
    /// The key for ECDSA, which every activation has: on P-256 in version 3 of the protocol, on P-384 in version 4.
    case ecdsa
    /// The key for ML-DSA, which an activation of a hybrid suite has.
    case mldsa
}

extension DeviceKey {
    /// The form of a JSON web signature.
    public enum WebSignatureForm: Sendable, Hashable {
        /// Three parts joined by dots, signed by one key: `ES256`, `ES384`, `ML-DSA-65` or `ML-DSA-87`.
        case compact(DeviceKey)
        /// A JSON object with the signatures of all keys of the device.
        case general
    }
}

/// Signatures by the device's own keys. The vault is opened for the length of the call.
extension Activation {
    /// Makes a request for a certificate (PKCS#10) of one of the device's keys, signed by that key.
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
    ///   - key: The key that the certificate is to be for.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Told to the server.
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for a name that no certificate can have, before the vault is asked for;
    ///   ``MobileTokenError/Code/notSupported`` for a key that the activation does not have.
    public func certificateRequest(
        for subject: DeviceKey.CertificateSubject,
        by key: DeviceKey = .ecdsa,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> DeviceKey.CertificateRequest {
        try self.check(key)
        try subject.check()
        return try await self.withDeviceKeys(authentication, reason) { keys in
            try DeviceKey.CertificateRequest(der: keys.certificateRequest(subject, by: key).der)
        }
    }

    /// Signs a payload as a JSON web signature (RFC 7515).
    ///
    /// - Parameters:
    ///   - payload: The bytes that are signed.
    ///   - type: The type in the header, such as `JWT`; none by default.
    ///   - form: Compact and signed by the key for ECDSA, unless told otherwise.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Told to the server.
    /// - Throws: ``MobileTokenError/Code/notSupported`` for a key that the activation does not have.
    public func deviceWebSignature(
        of payload: [UInt8],
        type: String? = nil,
        form: DeviceKey.WebSignatureForm = .compact(.ecdsa),
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> String {
        if case .compact(let key) = form { try self.check(key) }
        return try await self.withDeviceKeys(authentication, reason) { keys in
            try keys.webSignature(of: payload, type: type, form: form)
        }
    }

    /// Signs claims as a JSON web token (RFC 7519): `ES256` in version 3 of the protocol, `ES384` in version 4.
    ///
    /// - Parameters:
    ///   - claims: The claims, a value that is encoded as a JSON object.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Told to the server.
    /// - Throws: `EncodingError` for claims that are no JSON.
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

    /// Throws unless the activation has a key.
    private nonisolated func check(_ key: DeviceKey) throws(MobileTokenError) {
        guard key == .ecdsa || self.suite?.signatureScheme != nil else { throw .noMLDSAKey }
    }

    func withDeviceKeys<Value: Sendable>(
        _ authentication: Authentication,
        _ reason: Activation.VaultUnlockReason,
        _ use: @escaping @Sendable (DevicePrivateKeys) throws -> Value
    ) async throws -> Value {
        try await self.withStoredDialect { dialect in
            try await self.openVault(.devicePrivateKeys, in: dialect, with: authentication, reason: reason) {
                vaultKey,
                record,
                _ in
                let keys = try dialect.devicePrivateKeys(of: record, vaultKey: vaultKey)
                return try MobileTokenError.mapCryptoErrors { try use(keys) }
            }
        }
    }
}

extension DeviceKey {
    /// A request for a certificate, signed by the device.
    public struct CertificateRequest: Sendable, Hashable {
        /// The request in DER.
        public let der: [UInt8]
        /// The same in PEM.
        public let pem: String

        fileprivate init(der: [UInt8]) throws {
            self.der = der
            self.pem = try DER.pem(der, label: "CERTIFICATE REQUEST")
        }
    }
}

extension DeviceKey.CertificateSubject {
    /// Throws for names that no certificate can have. A key of the moment signs them, so that the device's is not fetched in vain.
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
