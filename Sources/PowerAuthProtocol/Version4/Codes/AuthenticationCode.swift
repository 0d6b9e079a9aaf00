package import PowerAuthCrypto

extension Version4 {
    /// The authentication code of a request: one component of 32 bytes for each factor.
    ///
    /// For the keys K₁…Kₙ of the factors (possession, then knowledge or biometry): d₀ is empty,
    /// `dⱼ = KMAC(Kⱼ, CTR_DATA ‖ dⱼ₋₁)`, and component j is `KMAC(dⱼ, data)`.
    package struct AuthenticationCode: Sendable, Equatable {
        /// The length of a component in the online form.
        package static let componentByteCount = 32
        /// How many digits a component may have in the offline form.
        package static let offlineComponentLengths = 4...8

        /// The components, one after the other: the online form before it is written in Base64.
        package let onlineBytes: [UInt8]

        /// Makes the code of a request with a counter, which must never make another one.
        ///
        /// - Parameters:
        ///   - keys: The keys of the factors in their order.
        ///   - secret: `APP_SECRET` as text, or the word `offline`.
        /// - Throws: `invalidLength` when a key is none.
        package init(
            _ data: SignatureData,
            keys: [SecretBytes],
            counter: HashCounter,
            secret: SigningSecret
        ) throws(CryptoError) {
            try self.init(keys: keys, counter: counter) { message in
                message.update(data.normalized)
                withUnsafeBytes(of: UInt8(ascii: "&")) { message.update($0) }
                message.update(secret.text)
            }
        }

        /// Makes the code of data that already ends in the secret.
        package init(message: [UInt8], keys: [SecretBytes], counter: HashCounter) throws(CryptoError) {
            try self.init(keys: keys, counter: counter) { $0.update(message) }
        }

        private init(
            keys: [SecretBytes],
            counter: HashCounter,
            _ feed: (borrowing KMAC256.Message) -> Void
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

        /// A step of the chain. libcrypto's context keeps the last key, which in the end is one of this code alone, never that
        /// of a factor; wiping it after each step would take as long again.
        private static func tag(
            key: SecretBytes,
            _ feed: (borrowing KMAC256.Message) -> Void
        ) throws(CryptoError) -> SecretBytes {
            try SecretBytes(count: Self.componentByteCount) { (tag) throws(CryptoError) in
                try key.withUnsafeBytes { (key) throws(CryptoError) in
                    try KMAC256.authenticate(key: key, customization: "PA4CODE", into: tag, feed)
                }
            }
        }

        /// The online form, as it stands in a header: all components in one Base64.
        package var online: String { Base64.encode(self.onlineBytes) }

        /// The offline form, to be typed by a person: of each component the last four bytes as a big-endian number without
        /// its top bit, modulo 10ⁿ, with leading zeros; joined by `-`.
        ///
        /// - Parameter componentLength: The number of digits n, 4 to 8.
        package func offline(componentLength: Int = 8) -> String {
            precondition(Self.offlineComponentLengths.contains(componentLength), "4 to 8 digits")
            return stride(from: 0, to: self.onlineBytes.count, by: Self.componentByteCount).map { start in
                let component = self.onlineBytes[start..<(start + Self.componentByteCount)]
                return DecimalCode.text(of: component, digits: componentLength)
            }.joined(separator: "-")
        }
    }

    /// Which factors make a code, under the name that goes into the header of a request.
    package enum AuthenticationCodeType: String, Sendable, Hashable, CaseIterable {
        case possession
        case possessionKnowledge = "possession_knowledge"
        case possessionBiometry = "possession_biometry"

        /// The factors, in the order of their components.
        package var factors: [SignatureFactor] {
            switch self {
            case .possession: [.possession]
            case .possessionKnowledge: [.possession, .knowledge]
            case .possessionBiometry: [.possession, .biometry]
            }
        }

        /// The length of the online form.
        package var codeByteCount: Int { self.factors.count * AuthenticationCode.componentByteCount }

        /// Whether a server counts failures of this type, and forgets them after a success.
        package var countsFailures: Bool { self != .possession }
    }
}
