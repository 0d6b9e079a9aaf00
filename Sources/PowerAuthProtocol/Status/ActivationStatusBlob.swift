package import PowerAuthCrypto

/// The status of an activation as the server reports it, encrypted in version 3 of the protocol and authenticated in version 4.
///
/// Four bytes that name the format, state, current version, version to upgrade to, flags, four reserved bytes, counter byte,
/// failed and allowed attempts, look-ahead, and the hash of the counter.
package struct ActivationStatusBlob: Sendable, Equatable {
    /// Facts about an activation beside its state, in version 4. Servers fill them at random before.
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

    /// The major version that precedes version 4.
    package static let version3: UInt8 = 3

    package var state: ActivationState
    /// The major version of the protocol that the activation has.
    package var currentVersion: UInt8
    /// The one that it may be upgraded to.
    package var upgradeVersion: UInt8
    package var flags: Flags
    /// Four bytes without meaning.
    package var reserved: [UInt8]
    /// The server's counter modulo 256.
    package var counterByte: UInt8
    package var failedAttempts: UInt8
    package var maxFailedAttempts: UInt8
    /// The number of counters that the server tries, beginning with its own.
    package var lookAhead: UInt8
    /// The hash of the server's counter: see ``ForwardCounter/hash(key:)``.
    package var counterHash: [UInt8]

    /// Creates a status, of an activation that stays in its version by default.
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

    /// Reads the fields that every version has, from bytes whose length and format are right.
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

    /// Returns all bytes, with those in front that name the format.
    func bytes(format: [UInt8]) -> [UInt8] {
        format + [self.state.rawValue, self.currentVersion, self.upgradeVersion, self.flags.rawValue] + self.reserved
            + [self.counterByte, self.failedAttempts, self.maxFailedAttempts, self.lookAhead] + self.counterHash
    }

    func checkLookAhead() throws(ActivationStatusError) {
        guard LookAhead.range.contains(Int(self.lookAhead)) else { throw .invalid(field: "lookAhead") }
    }
}

extension CounterSynchronization {
    /// Compares a client's counter with the one that the server reported.
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
