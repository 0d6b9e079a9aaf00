import Basics
import ExactJSON
package import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

/// Verification of a device's signatures with its public key.
extension DeviceKey.PublicKey {
    /// Reads a key.
    ///
    /// - Parameter der: The `SubjectPublicKeyInfo` of an uncompressed P-256 or P-384 point, or of an ML-DSA-65 or ML-DSA-87 key.
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for anything else; ``MobileTokenError/Code/notSupported`` for ML-DSA if
    ///   libcrypto lacks it.
    public init(der: [UInt8]) throws {
        self = try VerifyingKey(der).publicKey
    }

    /// Reads a key in PEM.
    ///
    /// ```swift
    /// let key = try DeviceKey.PublicKey(pem: String(contentsOfFile: "alice.pem", encoding: .utf8))
    /// ```
    ///
    /// - Throws: As ``init(der:)``.
    public init(pem: String) throws {
        let lines = pem.split(whereSeparator: \.isNewline)
        guard lines.first == "-----BEGIN PUBLIC KEY-----", lines.last == "-----END PUBLIC KEY-----",
            let der = Base64.decode(lines.dropFirst().dropLast().joined())
        else { throw MobileTokenError.noDeviceKey }
        try self.init(der: der)
    }

    /// Returns the payload of a compact JSON web signature (RFC 7515) made with this key.
    ///
    /// - Returns: `nil` for an invalid signature, another algorithm, or unknown critical extensions.
    public func payload(ofWebSignature signature: String) -> [UInt8]? {
        guard let key = try? VerifyingKey(self.der), let token = JSONWebToken(signature), key.isValid(token) else {
            return nil
        }
        return token.payload
    }
}

private enum VerifyingKey {
    case p256(P256PublicKey)
    case p384(P384PublicKey)
    case mldsa(MLDSAPublicKey)

    init(_ der: [UInt8]) throws {
        // The bytes before the point identify the curve, so the whole encoding is compared.
        if let key = try? P256PublicKey(x963: Array(der.suffix(65))), try key.publicKeyInfo() == der {
            self = .p256(key)
        } else if let key = try? P384PublicKey(x963: Array(der.suffix(97))), try key.publicKeyInfo() == der {
            self = .p384(key)
        } else if let parameters = MLDSA.allCases.first(where: {
            $0.algorithm.rawPublicKey(inPublicKeyInfo: der) != nil
        }) {
            guard parameters.algorithm.isAvailable else {
                throw MobileTokenError.unsupported("libcrypto has no ML-DSA")
            }
            guard let key = try? MLDSAPublicKey(publicKeyInfo: der, parameters: parameters) else {
                throw MobileTokenError.noDeviceKey
            }
            self = .mldsa(key)
        } else {
            throw MobileTokenError.noDeviceKey
        }
    }

    var publicKey: DeviceKey.PublicKey {
        get throws {
            switch self {
            case .p256(let key): try DeviceKey.PublicKey(key)
            case .p384(let key): try DeviceKey.PublicKey(key)
            case .mldsa(let key): try DeviceKey.PublicKey(mldsa: key.publicKeyInfo, key.parameters)
            }
        }
    }

    func isValid(_ token: JSONWebToken) -> Bool {
        switch (self, token.algorithm) {
        case (.p256(let key), .es256): key.isValid(rawSignature: token.signature, for: token.signingInput)
        case (.p384(let key), .es384): key.isValid(rawSignature: token.signature, for: token.signingInput)
        case (.mldsa(let key), let algorithm?) where algorithm.rawValue == key.parameters.algorithm.rawValue:
            key.isValid(token.signature, for: token.signingInput)
        default: false
        }
    }
}

extension MobileTokenError {
    fileprivate static var noDeviceKey: Self {
        Self(
            .invalidRequest,
            "This is no public key of a device: P-256, P-384, ML-DSA-65 or ML-DSA-87, as SubjectPublicKeyInfo"
        )
    }
}

// MARK: - Of operations

/// The signature of operation data with the device's own key, sent with the approval. The server ignores it.
package enum OperationSignature {
    /// The member of `mobileTokenData` for the signature.
    package static let member = "deviceSignature"
    package static let claim = "operationData"
}

extension DeviceKey.PublicKey {
    /// Returns whether the token is the device's signature of exactly this operation data.
    package func isSignature(_ token: String, ofOperationData data: String) -> Bool {
        guard let payload = self.payload(ofWebSignature: token), let claims = try? JSONValue(parsing: payload),
            let object = claims.object, object.duplicateKeys.isEmpty
        else { return false }
        return object[OperationSignature.claim]?.string?.isExactly(data) == true
    }
}

extension Activation {
    package func deviceSignature(
        ofOperationData data: String,
        with authentication: Activation.Authentication
    ) async throws -> String {
        try await self.deviceWebToken(of: [OperationSignature.claim: data], with: authentication)
    }
}
