package import ExactJSON
package import PowerAuthCrypto

extension Version4 {
    /// The status of an activation as the server reports it, authenticated so that anything but the server's own status is refused.
    ///
    /// 80 bytes: `DE C0 DE D4`, state, current version, version to upgrade to, flags, four reserved bytes, counter byte, failed
    /// and allowed attempts, look-ahead, the hash of the counter (32 bytes), and the tag of all of these (32 bytes).
    package struct ActivationStatusBlob: Sendable, Equatable {
        /// Facts about an activation beside its state.
        package struct Flags: OptionSet, Sendable, Hashable {
            package let rawValue: UInt8

            package init(rawValue: UInt8) { self.rawValue = rawValue }

            /// The activation waits for its confirmation.
            package static let awaitsConfirmation = Self(rawValue: 1 << 0)
            /// An upgrade waits for its confirmation.
            package static let upgradeAwaitsConfirmation = Self(rawValue: 1 << 1)
            /// The server no longer supports the activation's suite.
            package static let suiteUnsupported = Self(rawValue: 1 << 2)
            /// There is a biometric key.
            package static let biometryIsOn = Self(rawValue: 1 << 3)
        }

        /// The length of a blob: 80 bytes.
        package static let byteCount = 80

        package var state: ActivationState
        package var currentVersion: UInt8
        package var upgradeVersion: UInt8
        package var flags: Flags
        /// The server's counter modulo 256.
        package var counterByte: UInt8
        package var failedAttempts: UInt8
        package var maxFailedAttempts: UInt8
        /// The number of counters that the server tries, beginning with its own.
        package var lookAhead: UInt8
        /// The hash of the server's counter: see ``HashCounter/hash(key:)``.
        package var counterHash: [UInt8]

        package init(
            state: ActivationState,
            currentVersion: UInt8 = Version4.major,
            upgradeVersion: UInt8 = Version4.major,
            flags: Flags,
            counterByte: UInt8,
            failedAttempts: UInt8,
            maxFailedAttempts: UInt8,
            lookAhead: UInt8,
            counterHash: [UInt8]
        ) {
            self.state = state
            self.currentVersion = currentVersion
            self.upgradeVersion = upgradeVersion
            self.flags = flags
            self.counterByte = counterByte
            self.failedAttempts = failedAttempts
            self.maxFailedAttempts = maxFailedAttempts
            self.lookAhead = lookAhead
            self.counterHash = counterHash
        }

        /// Checks and reads a blob.
        ///
        /// - Parameter key: ``ActivationKeys/Utility/status``.
        package init(_ bytes: [UInt8], key: SecretBytes) throws(ActivationStatusError) {
            guard bytes.count == Self.byteCount else { throw .invalidLength }
            let content = [UInt8](bytes[..<Self.contentByteCount])
            guard constantTimeEquals(try Self.tag(of: content, key: key), [UInt8](bytes[Self.contentByteCount...]))
            else {
                throw .authenticationFailed
            }
            guard content.starts(with: Self.magic) else { throw .notABlob }
            guard let state = ActivationState(rawValue: content[4]) else { throw .invalid(field: "state") }
            self.init(
                state: state,
                currentVersion: content[5],
                upgradeVersion: content[6],
                flags: Flags(rawValue: content[7]),
                counterByte: content[12],
                failedAttempts: content[13],
                maxFailedAttempts: content[14],
                lookAhead: content[15],
                counterHash: [UInt8](content[16...])
            )
            try self.check()
        }

        private func check() throws(ActivationStatusError) {
            let isUpgrading = self.currentVersion == 3 && self.flags.contains(.upgradeAwaitsConfirmation)
            guard self.currentVersion == Version4.major || isUpgrading else { throw .invalid(field: "currentVersion") }
            guard self.upgradeVersion >= Version4.major else { throw .invalid(field: "upgradeVersion") }
            guard self.failedAttempts <= self.maxFailedAttempts else { throw .invalid(field: "failedAttempts") }
            guard LookAhead.range.contains(Int(self.lookAhead)) else {
                throw .invalid(field: "lookAhead")
            }
        }

        /// Returns the 80 bytes, as the server sends them.
        ///
        /// - Parameter key: ``ActivationKeys/Utility/status``.
        package func bytes(key: SecretBytes) throws(ActivationStatusError) -> [UInt8] {
            let content =
                Self.magic + [self.state.rawValue, self.currentVersion, self.upgradeVersion, self.flags.rawValue]
                + [0, 0, 0, 0, self.counterByte, self.failedAttempts, self.maxFailedAttempts, self.lookAhead]
                + self.counterHash
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

        private static let contentByteCount = 48
        private static let magic: [UInt8] = [0xDE, 0xC0, 0xDE, 0xD4]
    }

    /// The response to a request for the status, inside its envelope.
    package struct ActivationStatusResponse: Sendable, Equatable {
        /// A ``ActivationStatusBlob``, not yet checked.
        package let activationStatus: [UInt8]
        package let customObject: JSONValue?
        /// The time when a temporary block ends, in milliseconds since 1970; `nil` when there is none.
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

extension CounterSynchronization<Version4.HashCounter> {
    /// Compares a client's counter with the one that the server reported.
    ///
    /// - Parameter key: ``Version4/ActivationKeys/Utility/counterHash``.
    package init(
        client: Version4.HashCounter,
        status: Version4.ActivationStatusBlob,
        key: SecretBytes
    ) throws(CryptoError) {
        try self.init(
            client: client,
            serverByte: status.counterByte,
            serverHash: status.counterHash,
            lookAhead: status.lookAhead,
            key: key
        )
    }
}
