package import ExactJSON
package import PowerAuthCrypto

/// The status in version 4: 80 authenticated bytes. `DE C0 DE D4` in front, a hash of 32 bytes, and a tag of everything (32
/// bytes).
extension ActivationStatusBlob {
    private static let contentByteCount = 48
    private static let format4: [UInt8] = [0xDE, 0xC0, 0xDE, 0xD4]

    /// Verifies and parses a blob.
    ///
    /// - Parameter key: ``Version4/ActivationKeys/Utility/status``.
    package init(_ bytes: [UInt8], key: SecretBytes) throws(ActivationStatusError) {
        guard bytes.count == 80 else { throw .invalidLength }
        let content = [UInt8](bytes[..<Self.contentByteCount])
        guard constantTimeEquals(try Self.tag(of: content, key: key), [UInt8](bytes[Self.contentByteCount...])) else {
            throw .authenticationFailed
        }
        guard content.starts(with: Self.format4) else { throw .notABlob }
        try self.init(fields: content)
        let isUpgrading = self.currentVersion == Self.version3 && self.flags.contains(.upgradeAwaitsConfirmation)
        guard self.currentVersion == Version4.major || isUpgrading else { throw .invalid(field: "currentVersion") }
        guard self.upgradeVersion >= Version4.major else { throw .invalid(field: "upgradeVersion") }
        guard self.failedAttempts <= self.maxFailedAttempts else { throw .invalid(field: "failedAttempts") }
        try self.checkLookAhead()
    }

    /// Returns the 80 bytes to send.
    ///
    /// - Parameter key: ``Version4/ActivationKeys/Utility/status``.
    package func bytes(key: SecretBytes) throws(ActivationStatusError) -> [UInt8] {
        let content = self.bytes(format: Self.format4)
        guard content.count == Self.contentByteCount else { throw .invalidLength }
        return content + (try Self.tag(of: content, key: key))
    }

    private static func tag(of content: [UInt8], key: SecretBytes) throws(ActivationStatusError) -> [UInt8] {
        do throws(CryptoError) {
            return try KMAC256.authenticate(content, key: key, customization: "PA4MAC-STATUS")
        } catch {
            throw .crypto(error)
        }
    }
}

extension Version4 {
    /// The status response, inside its envelope.
    package struct ActivationStatusResponse: Sendable, Equatable {
        /// A ``ActivationStatusBlob``, not verified.
        package let activationStatus: [UInt8]
        package let customObject: JSONValue?
        /// When a temporary block ends, in milliseconds since 1970; `nil` without a block.
        package let timestampBlockExpire: Int64?

        package init(activationStatus: [UInt8], customObject: JSONValue?, timestampBlockExpire: Int64?) {
            self.activationStatus = activationStatus
            self.customObject = customObject
            self.timestampBlockExpire = timestampBlockExpire
        }
    }
}

extension Version4.ActivationStatusResponse: Codable {
    private enum CodingKeys: String, CodingKey {
        case activationStatus, customObject, timestampBlockExpire
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.activationStatus = try container.decodeBase64(forKey: .activationStatus)
        self.customObject = try container.decodeIfPresent(JSONValue.self, forKey: .customObject)
        self.timestampBlockExpire = try container.decodeIfPresent(Int64.self, forKey: .timestampBlockExpire)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeBase64(self.activationStatus, forKey: .activationStatus)
        try container.encode(self.customObject ?? .object([:]), forKey: .customObject)
        try container.encode(self.timestampBlockExpire, forKey: .timestampBlockExpire)
    }
}
