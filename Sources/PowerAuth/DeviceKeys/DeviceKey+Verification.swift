import Basics
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Signatures of a device, checked by whoever has its public key.
extension DeviceKey.PublicKey {
    /// Reads a key.
    ///
    /// - Parameter der: A `SubjectPublicKeyInfo` of a point of P-256 or P-384 without compression, or of ML-DSA-65 or ML-DSA-87.
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for anything else, ``MobileTokenError/Code/notSupported`` for ML-DSA where
    ///   libcrypto has none.
    public init(der: [UInt8]) throws {
        self = try VerifyingKey(der).publicKey
    }

    /// Reads a key in PEM, as ``pem`` is.
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

    /// Returns the payload of a JSON web signature in compact form (RFC 7515) that the device made with this key.
    ///
    /// - Returns: `nil` for a signature that it did not make, of another algorithm than the key's, or with extensions that must be known.
    public func payload(ofWebSignature signature: String) -> [UInt8]? {
        guard let key = try? VerifyingKey(self.der), let token = JSONWebToken(signature), key.isValid(token) else {
            return nil
        }
        return token.payload
    }
}

/// A public key of a device, parsed.
private enum VerifyingKey {
    case p256(P256PublicKey)
    case p384(P384PublicKey)
    case mldsa(MLDSAPublicKey)

    init(_ der: [UInt8]) throws {
        // The bytes before a point say its curve: the only encoding of the key is compared as a whole.
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

/// The signature of an operation's data by the device's own key, which goes along with the approval. The server has no part in it.
package enum OperationSignature {
    /// The member of `mobileTokenData` that holds it.
    package static let member = "deviceSignature"
    /// The claim of the token that holds the data.
    package static let claim = "operationData"
}

extension DeviceKey.PublicKey {
    /// Returns whether a JSON web token is the device's signature of an operation's data, byte for byte.
    package func isSignature(_ token: String, ofOperationData data: String) -> Bool {
        guard let payload = self.payload(ofWebSignature: token), let claims = try? JSONValue(parsing: payload),
            let object = claims.object, object.duplicateKeys.isEmpty
        else { return false }
        return object[OperationSignature.claim]?.string?.isExactly(data) == true
    }
}

extension Activation {
    /// Signs the data of an operation with the device's own key.
    package func deviceSignature(
        ofOperationData data: String,
        with authentication: Authentication
    ) async throws -> String {
        try await self.deviceWebToken(of: [OperationSignature.claim: data], with: authentication)
    }
}
