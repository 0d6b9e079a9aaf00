import PowerAuthCrypto
import PowerAuthProtocol

/// The public halves of a device's keys, one for each algorithm of the activation.
public struct DevicePublicKeys: Sendable, Hashable {
    /// For ECDSA: a point of P-256 in version 3 of the protocol, of P-384 in version 4.
    public let ecdsa: DevicePublicKey
    /// For ML-DSA; `nil` where the activation has no such key.
    public let mldsa: DevicePublicKey?
}

/// The public half of one of a device's keys.
public struct DevicePublicKey: Sendable, Hashable {
    /// The key without any wrapping: `04`, X and Y of a point, or the bytes of FIPS 204.
    public let rawBytes: [UInt8]
    /// The key as `SubjectPublicKeyInfo`, in DER.
    public let der: [UInt8]
    /// The same in PEM.
    public let pem: String

    private init(rawBytes: [UInt8], der: [UInt8]) throws {
        self.rawBytes = rawBytes
        self.der = der
        self.pem = try DER.pem(der, label: "PUBLIC KEY")
    }

    init<Curve>(_ key: ECPublicKey<Curve>) throws {
        try self.init(rawBytes: key.uncompressed, der: try key.publicKeyInfo())
    }

    init(mldsa publicKeyInfo: [UInt8], _ parameters: MLDSA) throws {
        guard let rawBytes = parameters.algorithm.rawPublicKey(inPublicKeyInfo: publicKeyInfo) else {
            throw CryptoError(.invalidPublicKey)
        }
        try self.init(rawBytes: rawBytes, der: publicKeyInfo)
    }
}

extension Activation {
    /// Returns the public halves of the device's keys, such as to check what the device signs. Asks no server.
    public func devicePublicKeys() async throws -> DevicePublicKeys {
        try await self.storedRecord().devicePublicKeys()
    }
}

extension ActivationRecord {
    func devicePublicKeys() throws(MobileTokenError) -> DevicePublicKeys {
        try MobileTokenError.mapCryptoErrors {
            switch self.keys {
            case .version3(let keys):
                DevicePublicKeys(ecdsa: try DevicePublicKey(P256PublicKey(x963: keys.devicePublicKey)), mldsa: nil)
            case .version4(let keys):
                DevicePublicKeys(
                    ecdsa: try DevicePublicKey(P384PublicKey(x963: keys.devicePublicKeys.ecdsa)),
                    mldsa: try Self.mldsaKey(of: keys)
                )
            }
        }
    }

    private static func mldsaKey(of keys: Version4Keys) throws -> DevicePublicKey? {
        guard let parameters = keys.suite.signatureScheme, let key = keys.devicePublicKeys.mldsa else { return nil }
        return try DevicePublicKey(mldsa: key, parameters)
    }
}
