package import PowerAuthCrypto

extension Version4 {
    /// The authentication code of a request, with a 32-byte component per factor. For the keys K₁…Kₙ of the factors (possession,
    /// then knowledge or biometry): d₀ is empty, `dⱼ = KMAC(Kⱼ, CTR_DATA ‖ dⱼ₋₁)`, and component j is `KMAC(dⱼ, data)`.
    package struct AuthenticationCode: Sendable, Equatable {
        /// The length of a component in the online form.
        package static let componentByteCount = 32

        /// The concatenated components: the online form before Base64.
        package let onlineBytes: [UInt8]

        /// Computes the code with a counter, which must not make another one.
        ///
        /// - Parameter keys: The keys of the factors in order.
        /// - Throws: `invalidLength` for a key that KMAC does not accept.
        package init(
            _ data: SignatureData,
            keys: [SecretBytes],
            counter: HashCounter,
            secret: SigningSecret
        ) throws(CryptoError) {
            try self.init(keys: keys, counter: counter) { message in
                message.update(data.normalized)
                withUnsafeBytes(of: UInt8(ascii: "&")) { message.update($0) }
                message.update(secret.bytes)
            }
        }

        /// Computes the code of data that includes the secret.
        package init(message: [UInt8], keys: [SecretBytes], counter: HashCounter) throws(CryptoError) {
            try self.init(keys: keys, counter: counter) { $0.update(message) }
        }

        private init(
            keys: [SecretBytes],
            counter: HashCounter,
            _ feed: (borrowing MACMessage) -> Void
        ) throws(CryptoError) {
            var bytes = [UInt8]()
            bytes.reserveCapacity(keys.count * Self.componentByteCount)
            var previous: SecretBytes?
            for key in keys {
                let derived = try Self.tag(key: key) { message in
                    message.update(counter.data)
                    if let previous { message.update(previous) }
                }
                try Self.tag(key: derived, feed).withUnsafeBytes { bytes += $0 }
                previous = derived
            }
            self.onlineBytes = bytes
        }

        /// Computes a step of the chain. libcrypto's context keeps the last key, which is finally one of this code only, never a
        /// factor's. Wiping it at each step would double the time.
        private static func tag(
            key: SecretBytes,
            _ feed: (borrowing MACMessage) -> Void
        ) throws(CryptoError) -> SecretBytes {
            try SecretBytes(count: Self.componentByteCount) { (tag) throws(CryptoError) in
                try key.withUnsafeBytes { (key) throws(CryptoError) in
                    try KMAC256.authenticate(key: key, customization: "PA4CODE", into: tag, feed)
                }
            }
        }

        /// The online form in a header: all components as one Base64 string.
        package var online: String { Base64.encode(self.onlineBytes) }

        /// Returns the offline form for typing: a decimal code per component, joined by `-`.
        ///
        /// - Parameter componentLength: The number of digits per component, 4 to 8.
        package func offline(componentLength: Int = 8) -> String {
            DecimalCode.string(ofComponents: self.onlineBytes, length: componentLength)
        }
    }

    /// The factors of a code, with their name in the header.
    package enum AuthenticationCodeType: String, Sendable, Hashable, CaseIterable {
        case possession
        case possessionKnowledge = "possession_knowledge"
        case possessionBiometry = "possession_biometry"

        package var factors: [SignatureFactor] {
            switch self {
            case .possession: [.possession]
            case .possessionKnowledge: [.possession, .knowledge]
            case .possessionBiometry: [.possession, .biometry]
            }
        }

        /// Parses the name in a header. Case-insensitive.
        init?(headerValue: String) {
            guard let type = SignatureType(headerValue: headerValue) else { return nil }
            self.init(rawValue: type.rawValue)
        }

        package var codeByteCount: Int { self.factors.count * AuthenticationCode.componentByteCount }
    }
}
