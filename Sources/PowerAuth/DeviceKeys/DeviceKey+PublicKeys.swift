package import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

extension DeviceKey {
    /// The public halves of a device's keys, one for each algorithm of the activation.
    public struct PublicKeys: Sendable, Hashable {
        /// For ECDSA: a point of P-256 in version 3 of the protocol, of P-384 in version 4.
        public let ecdsa: DeviceKey.PublicKey
        /// For ML-DSA; `nil` where the activation has no such key.
        public let mldsa: DeviceKey.PublicKey?
    }
}

extension DeviceKey {
    /// The public half of one of a device's keys.
    public struct PublicKey: Sendable, Hashable {
        /// The key without any wrapping: `04`, X and Y of a point, or the bytes of FIPS 204.
        public let rawBytes: [UInt8]
        /// The key as `SubjectPublicKeyInfo`, in DER.
        public let der: [UInt8]
        /// The same in PEM.
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
    /// Returns the public halves of the device's keys, such as to check what the device signs. Asks no server.
    public func devicePublicKeys() async throws -> DeviceKey.PublicKeys {
        try await self.storedRecord().devicePublicKeys()
    }

    /// The local time in the precision of receipts.
    package nonisolated var localDate: Date { self.server.clocks.reading.wall.inWholeMilliseconds }

    /// Returns the device's public key for ECDSA, compressed, as signed receipts name it.
    package func compressedDevicePublicKey() async throws -> [UInt8] {
        try await self.withStoredDialect { try $0.devicePublicKey(of: try await self.storedRecord()) }
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
