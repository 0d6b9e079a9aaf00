public import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

extension DeviceKey {
    /// The device's public keys, one per algorithm of the activation.
    public struct PublicKeys: Sendable, Hashable {
        /// The ECDSA key: a point of P-256 in protocol version 3, of P-384 in version 4.
        public let ecdsa: DeviceKey.PublicKey
        /// The ML-DSA key; `nil` if the activation has none.
        public let mldsa: DeviceKey.PublicKey?
    }
}

extension DeviceKey {
    /// A public key of the device.
    public struct PublicKey: Sendable, Hashable {
        /// The raw key: `04`, X and Y of a point, or the bytes of FIPS 204.
        public let rawBytes: [UInt8]
        /// The key as `SubjectPublicKeyInfo`, in DER.
        public let der: [UInt8]
        /// The key in PEM.
        public let pem: String

        init(rawBytes: [UInt8], der: [UInt8]) throws {
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
}

extension Activation {
    /// Returns the device's public keys, for checking its signatures. Sends no request.
    public func devicePublicKeys() async throws -> DeviceKey.PublicKeys {
        try await self.storedRecord().devicePublicKeys()
    }
}

extension ActivationRecord {
    func devicePublicKeys() throws(MobileTokenError) -> DeviceKey.PublicKeys {
        try MobileTokenError.mapCryptoErrors {
            switch self.keys {
            case .version3(let keys):
                DeviceKey.PublicKeys(
                    ecdsa: try DeviceKey.PublicKey(P256PublicKey(x963: keys.devicePublicKey)),
                    mldsa: nil
                )
            case .version4(let keys):
                DeviceKey.PublicKeys(
                    ecdsa: try DeviceKey.PublicKey(P384PublicKey(x963: keys.devicePublicKeys.ecdsa)),
                    mldsa: try Self.mldsaKey(of: keys)
                )
            }
        }
    }

    private static func mldsaKey(of keys: Version4Keys) throws -> DeviceKey.PublicKey? {
        guard let parameters = keys.suite.signatureScheme, let key = keys.devicePublicKeys.mldsa else { return nil }
        return try DeviceKey.PublicKey(mldsa: key, parameters)
    }
}
