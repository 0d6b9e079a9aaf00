package import PowerAuthCrypto

/// The server's status of an activation, encrypted in version 3 and authenticated in version 4. Four format bytes, state, current
/// version, upgrade version, flags, four reserved bytes, counter byte, failed and allowed attempts, look-ahead, and the counter's
/// hash.
package struct ActivationStatusBlob: Sendable, Equatable {
    /// Further facts about a version 4 activation. In version 3 servers fill them randomly.
    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The activation awaits confirmation.
        package static let awaitsConfirmation = Self(rawValue: 1 << 0)
        /// An upgrade awaits confirmation.
        package static let upgradeAwaitsConfirmation = Self(rawValue: 1 << 1)
        /// The server no longer supports the activation's suite.
        package static let suiteUnsupported = Self(rawValue: 1 << 2)
        /// The activation has a biometric key.
        package static let biometryIsOn = Self(rawValue: 1 << 3)
    }

    /// The major version before 4.
    package static let version3: UInt8 = 3

    package var state: ActivationState
    /// The activation's major protocol version.
    package var currentVersion: UInt8
    /// The major version of a possible upgrade.
    package var upgradeVersion: UInt8
    package var flags: Flags
    /// Four unused bytes.
    package var reserved: [UInt8]
    /// The server's counter modulo 256.
    package var counterByte: UInt8
    package var failedAttempts: UInt8
    package var maxFailedAttempts: UInt8
    /// The number of counter values that the server tries, starting at its own.
    package var lookAhead: UInt8
    /// The hash of the server's counter: see ``ForwardCounter/hash(key:)``.
    package var counterHash: [UInt8]

    /// Creates a status, by default without an upgrade.
    package init(
        state: ActivationState,
        currentVersion: UInt8,
        upgradeVersion: UInt8? = nil,
        flags: Flags = [],
        reserved: [UInt8] = [0, 0, 0, 0],
        counterByte: UInt8,
        failedAttempts: UInt8,
        maxFailedAttempts: UInt8,
        lookAhead: UInt8,
        counterHash: [UInt8]
    ) {
        self.state = state
        self.currentVersion = currentVersion
        self.upgradeVersion = upgradeVersion ?? currentVersion
        self.flags = flags
        self.reserved = reserved
        self.counterByte = counterByte
        self.failedAttempts = failedAttempts
        self.maxFailedAttempts = maxFailedAttempts
        self.lookAhead = lookAhead
        self.counterHash = counterHash
    }

    /// Reads the fields common to all versions, from bytes of valid length and format.
    init(fields bytes: [UInt8]) throws(ActivationStatusError) {
        guard bytes.count > 16 else { throw .invalidLength }
        guard let state = ActivationState(rawValue: bytes[4]) else { throw .invalid(field: "state") }
        self.init(
            state: state,
            currentVersion: bytes[5],
            upgradeVersion: bytes[6],
            flags: Flags(rawValue: bytes[7]),
            reserved: [UInt8](bytes[8..<12]),
            counterByte: bytes[12],
            failedAttempts: bytes[13],
            maxFailedAttempts: bytes[14],
            lookAhead: bytes[15],
            counterHash: [UInt8](bytes[16...])
        )
    }

    /// Returns all bytes, with the format bytes first.
    func bytes(format: [UInt8]) -> [UInt8] {
        format + [self.state.rawValue, self.currentVersion, self.upgradeVersion, self.flags.rawValue] + self.reserved
            + [self.counterByte, self.failedAttempts, self.maxFailedAttempts, self.lookAhead] + self.counterHash
    }

    func checkLookAhead() throws(ActivationStatusError) {
        guard LookAhead.range.contains(Int(self.lookAhead)) else { throw .invalid(field: "lookAhead") }
    }
}

extension CounterSynchronization {
    /// Compares a client's counter with the server's.
    ///
    /// - Parameter key: The key of the counter's hash.
    package init(client: Counter, status: ActivationStatusBlob, key: SecretBytes) throws(CryptoError) {
        try self.init(
            client: client,
            serverByte: status.counterByte,
            serverHash: status.counterHash,
            lookAhead: status.lookAhead,
            key: key
        )
    }
}
