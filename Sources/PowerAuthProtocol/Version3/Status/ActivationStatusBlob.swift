package import PowerAuthCrypto

/// The status of an activation as the server reports it, encrypted so that only the activation's holder can read it.
///
/// 32 bytes: `DE C0 DE D1` (`D1` to `DF` for the version of the format), state, current version, version to upgrade to, five
/// reserved bytes, counter byte, failed and allowed attempts, look-ahead, and the hash of the counter (16 bytes). AES-128-CBC
/// without padding under `KEY_TRANSPORT`; the vector is `KDF_INTERNAL(KDF(KEY_TRANSPORT, 3000), challenge ‖ nonce)`.
package struct ActivationStatusBlob: Sendable, Equatable {
    /// The length of a blob: 32 bytes.
    package static let byteCount = 32
    /// The length of a challenge, and of a nonce: 16 bytes.
    package static let challengeByteCount = 16
    /// The newest major version of the protocol whose activations this kind of status describes.
    package static let newestVersion: UInt8 = 3

    package var state: ActivationState
    package var currentVersion: UInt8
    package var upgradeVersion: UInt8
    /// Five bytes without meaning, which servers fill at random.
    package var reserved: [UInt8]
    /// The server's counter modulo 256.
    package var counterByte: UInt8
    package var failedAttempts: UInt8
    package var maxFailedAttempts: UInt8
    /// The number of counters that the server tries, beginning with its own.
    package var lookAhead: UInt8
    /// The hash of the server's counter: see ``HashCounter/hash(transportKey:)``.
    package var counterHash: [UInt8]

    package init(
        state: ActivationState,
        currentVersion: UInt8 = Self.newestVersion,
        upgradeVersion: UInt8 = Self.newestVersion,
        reserved: [UInt8] = [0, 0, 0, 0, 0],
        counterByte: UInt8,
        failedAttempts: UInt8,
        maxFailedAttempts: UInt8,
        lookAhead: UInt8,
        counterHash: [UInt8]
    ) {
        self.state = state
        self.currentVersion = currentVersion
        self.upgradeVersion = upgradeVersion
        self.reserved = reserved
        self.counterByte = counterByte
        self.failedAttempts = failedAttempts
        self.maxFailedAttempts = maxFailedAttempts
        self.lookAhead = lookAhead
        self.counterHash = counterHash
    }

    /// Reads a decrypted blob.
    ///
    /// - Throws: `unsupportedVersion` for an activation that the server has moved on to version 4 or later.
    package init(bytes: [UInt8]) throws(ActivationStatusError) {
        guard bytes.count == Self.byteCount else { throw .invalidLength }
        guard bytes.starts(with: Self.magic.dropLast()), Self.formats.contains(bytes[3]) else { throw .notABlob }
        guard let state = ActivationState(rawValue: bytes[4]) else { throw .invalid(field: "state") }
        guard bytes[5] <= Self.newestVersion else { throw .unsupportedVersion(bytes[5]) }
        guard LookAhead.range.contains(Int(bytes[15])) else { throw .invalid(field: "lookAhead") }
        self.init(
            state: state,
            currentVersion: bytes[5],
            upgradeVersion: bytes[6],
            reserved: [UInt8](bytes[7..<12]),
            counterByte: bytes[12],
            failedAttempts: bytes[13],
            maxFailedAttempts: bytes[14],
            lookAhead: bytes[15],
            counterHash: [UInt8](bytes[16...])
        )
    }

    /// Decrypts and reads a blob.
    ///
    /// - Parameters:
    ///   - challenge: The 16 bytes that the client sent.
    ///   - nonce: The 16 bytes that the server responded with.
    package init(
        decrypting encrypted: [UInt8],
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(ActivationStatusError) {
        guard encrypted.count == Self.byteCount, challenge.count == Self.challengeByteCount,
            nonce.count == Self.challengeByteCount, transportKey.count == 16
        else { throw .invalidLength }
        let bytes: [UInt8]
        do throws(CryptoError) {
            let vector = try Self.initializationVector(transportKey: transportKey, challenge: challenge, nonce: nonce)
            bytes = try AES128CBC.decrypt(encrypted, key: transportKey, iv: vector, padding: .none)
        } catch {
            throw .crypto(error)
        }
        try self.init(bytes: bytes)
    }

    /// The 32 bytes, not yet encrypted.
    package var bytes: [UInt8] {
        Self.magic + [self.state.rawValue, self.currentVersion, self.upgradeVersion] + self.reserved
            + [self.counterByte, self.failedAttempts, self.maxFailedAttempts, self.lookAhead] + self.counterHash
    }

    /// Returns the blob as the server sends it.
    package func encrypted(
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let vector = try Self.initializationVector(transportKey: transportKey, challenge: challenge, nonce: nonce)
        return try AES128CBC.encrypt(self.bytes, key: transportKey, iv: vector, padding: .none)
    }

    /// Returns `KDF_INTERNAL(KDF(KEY_TRANSPORT, 3000), challenge ‖ nonce)`.
    package static func initializationVector(
        transportKey: SecretBytes,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let key = try KeyDerivation.derive(transportKey, index: 3000)
        return KeyDerivation.deriveInternal(key, index: challenge + nonce).disclosed
    }

    private static let magic: [UInt8] = [0xDE, 0xC0, 0xDE, 0xD1]
    /// The versions of the format, which the last magic byte names. Later ones keep the fields of the first.
    private static let formats: ClosedRange<UInt8> = 0xD1...0xDF
}

extension CounterSynchronization<HashCounter> {
    /// Compares a client's counter with the one that the server reported.
    package init(
        client: HashCounter,
        status: ActivationStatusBlob,
        transportKey: SecretBytes
    ) throws(CryptoError) {
        guard status.currentVersion == ActivationStatusBlob.newestVersion else {
            self.init(notComparedWithin: Int(status.lookAhead))  // activations of older versions count without hashes
            return
        }
        try self.init(
            client: client,
            serverByte: status.counterByte,
            serverHash: status.counterHash,
            lookAhead: status.lookAhead,
            key: HashCounter.hashKey(transportKey: transportKey)
        )
    }
}
