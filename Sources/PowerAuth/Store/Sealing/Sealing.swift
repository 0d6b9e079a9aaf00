import Basics
package import PowerAuthCrypto
import PowerAuthProtocol

/// Seals activations for a store: AES-256-GCM under one key, each value bound to its activation and its name.
///
/// A value that was changed, exchanged with another one or moved to another activation does not open. Values that are
/// not secret stay readable; they are authenticated together. Fields that stand still keep their bytes when others
/// change, so a store writes little.
package struct Sealing: Sendable {
    /// The length of a sealing key: 32 bytes.
    package static let keyByteCount = 32

    /// Names the arrangement of nonce, ciphertext and associated data; part of what is authenticated.
    private static let version: UInt8 = 1
    /// The field that authenticates the open ones.
    private static let openFieldsTag: ExactString = "open-fields-tag"

    private let key: SecretBytes

    /// Seals with a key of 32 random bytes.
    ///
    /// - Throws: `storeSealingKeyMissing` when the key has another length.
    package init(key: SecretBytes) throws {
        guard key.count == Self.keyByteCount else {
            throw MobileTokenError(
                .storeSealingKeyMissing,
                "A sealing key is \(Self.keyByteCount) bytes long, not \(key.count)"
            )
        }
        self.key = key
    }

    /// Returns an activation in the form to be kept.
    package func seal(_ record: ActivationRecord) throws -> SealedActivation {
        let cipher = self.cipher(of: record.activationID)
        let fields = RecordFields(record)
        return SealedActivation(
            activationID: record.activationID,
            fields: fields.open.map { SealedActivation.Field(name: $0.key.string, isSealed: false, bytes: $0.value) }
                + [try cipher.tag(of: fields.open)]
                + (try fields.secret.map { try cipher.seal($0.value, name: $0.key.string) })
        )
    }

    /// Returns the activation that was kept.
    ///
    /// - Throws: `storeCorrupted` when a value is missing or fails authentication, which a wrong key looks like too; see
    ///   ``matches(keyCheck:)``.
    package func open(_ sealed: SealedActivation) throws -> ActivationRecord { try self.opened(sealed).record }

    /// An activation as it was kept, opened.
    struct Opened {
        fileprivate let fields: RecordFields
        let record: ActivationRecord
    }

    func opened(_ sealed: SealedActivation) throws -> Opened {
        let fields = try self.fields(of: sealed, self.cipher(of: sealed.activationID))
        return Opened(fields: fields, record: try fields.record(activationID: sealed.activationID))
    }

    /// Seals what is different in a record from what was opened.
    func changes(from opened: Opened, to record: ActivationRecord) throws -> SealedActivation.Changes {
        let cipher = self.cipher(of: record.activationID)
        let (before, after) = (opened.fields, RecordFields(record))
        var written: [SealedActivation.Field] = []
        if after.open != before.open {
            for (name, bytes) in after.open where before.open[name] != bytes {
                written.append(SealedActivation.Field(name: name.string, isSealed: false, bytes: bytes))
            }
            written.append(try cipher.tag(of: after.open))
        }
        for (name, secret) in after.secret where before.secret[name] != secret {
            written.append(try cipher.seal(secret, name: name.string))
        }
        let removed =
            before.open.keys.filter { after.open[$0] == nil } + before.secret.keys.filter { after.secret[$0] == nil }
        return SealedActivation.Changes(written: written, removed: removed.map(\.string))
    }

    /// Seals an activation with another key. What its fields mean does not matter.
    package func reseal(_ sealed: SealedActivation, with other: Self) throws -> SealedActivation {
        let cipher = self.cipher(of: sealed.activationID)
        let otherCipher = other.cipher(of: sealed.activationID)
        let fields = try self.fields(of: sealed, cipher)
        return SealedActivation(
            activationID: sealed.activationID,
            fields: sealed.fields.filter { !$0.isSealed }
                + [try otherCipher.tag(of: fields.open)]
                + (try fields.secret.map { try otherCipher.seal($0.value, name: $0.key.string) })
        )
    }

    /// Returns a value that tells this key from others without helping to find it.
    ///
    /// Keep it beside the first activation, and look at it before anything is written: a store with values under two
    /// keys is lost.
    package func makeKeyCheck() throws -> [UInt8] {
        try self.cipher(of: "").seal(SecretBytes(copying: []), name: "key-check").bytes
    }

    /// Returns whether ``makeKeyCheck()`` made this value with the same key.
    package func matches(keyCheck: [UInt8]) -> Bool {
        let field = SealedActivation.Field(name: "key-check", isSealed: true, bytes: keyCheck)
        return (try? self.cipher(of: "").open(field)) != nil
    }

    private func fields(of sealed: SealedActivation, _ cipher: FieldCipher) throws -> RecordFields {
        var fields = RecordFields()
        var tag: SealedActivation.Field?
        for field in sealed.fields {
            let name = ExactString(field.name)
            if name == Self.openFieldsTag {
                tag = field
            } else if field.isSealed {
                fields.secret[name] = try cipher.open(field)
            } else {
                fields.open[name] = field.bytes
            }
        }
        guard let tag else { throw MobileTokenError.damaged(Self.openFieldsTag.string) }
        try cipher.check(tag, of: fields.open)
        return fields
    }

    /// Seals and opens the values of one activation.
    func cipher(of activationID: String) -> FieldCipher {
        FieldCipher(key: self.key, activationID: activationID)
    }

    /// Seals the values of one activation.
    struct FieldCipher {
        /// Derived for the activation, so that random nonces stay safe: no more than 2³² values under one key, which an
        /// activation that signs ten times a second reaches after thirteen years.
        private let key: SecretBytes
        private let activationID: [UInt8]

        init(key: SecretBytes, activationID: String) {
            self.activationID = Array(activationID.utf8)
            self.key = HMACSHA256.deriveLeavingNoCopy(from: Array("activation:".utf8) + self.activationID, key: key)
        }

        func seal(_ secret: SecretBytes, name: String) throws -> SealedActivation.Field {
            try self.seal(secret, name: name, associatedData: self.context(of: name))
        }

        func open(_ field: SealedActivation.Field) throws -> SecretBytes {
            try self.open(field, associatedData: self.context(of: field.name))
        }

        func tag(of open: [ExactString: [UInt8]]) throws -> SealedActivation.Field {
            try self.seal(
                SecretBytes(copying: []),
                name: Sealing.openFieldsTag.string,
                associatedData: self.context(of: open)
            )
        }

        func check(_ tag: SealedActivation.Field, of open: [ExactString: [UInt8]]) throws {
            _ = try self.open(tag, associatedData: self.context(of: open))
        }

        private func seal(
            _ secret: SecretBytes,
            name: String,
            associatedData: [UInt8]
        ) throws -> SealedActivation.Field {
            let nonce = SecureRandom.bytes(AES256GCM.nonceByteCount)
            let sealed = try AES256GCM.seal(secret, key: self.key, nonce: nonce, associatedData: associatedData)
            return SealedActivation.Field(name: name, isSealed: true, bytes: nonce + sealed)
        }

        private func open(_ field: SealedActivation.Field, associatedData: [UInt8]) throws -> SecretBytes {
            do {
                return try AES256GCM.open(
                    Array(field.bytes.dropFirst(AES256GCM.nonceByteCount)),
                    key: self.key,
                    nonce: Array(field.bytes.prefix(AES256GCM.nonceByteCount)),
                    associatedData: associatedData
                )
            } catch {
                throw MobileTokenError.damaged(field.name)
            }
        }

        /// Returns what a sealed field is bound to: version, activation and name, each with its length.
        private func context(of name: String) -> [UInt8] {
            var context = FieldWriter(version: Sealing.version)
            context.append(self.activationID)
            context.append(Array(name.utf8))
            return context.bytes
        }

        /// Returns what the tag is bound to: as a field of its name, and then to every open field in the order of
        /// names.
        private func context(of open: [ExactString: [UInt8]]) -> [UInt8] {
            var context = FieldWriter(version: Sealing.version)
            context.append(self.activationID)
            context.append(Array(Sealing.openFieldsTag.string.utf8))
            for (name, bytes) in open.sorted(by: { $0.key < $1.key }) {
                context.append(Array(name.string.utf8))
                context.append(bytes)
            }
            return context.bytes
        }
    }
}

// MARK: - Bytes that a store keeps beside the record of an activation

extension Sealing {
    /// Seals bytes, bound to an activation and to what they are.
    package func seal(_ bytes: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        try self.cipher(of: activationID).seal(SecretBytes(copying: bytes), name: name).bytes
    }

    /// Returns bytes that were sealed.
    ///
    /// - Throws: `storeCorrupted` when they fail authentication.
    package func open(_ sealed: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        let field = SealedActivation.Field(name: name, isSealed: true, bytes: sealed)
        return try self.cipher(of: activationID).open(field).withUnsafeBytes { Array($0) }
    }
}

/// Byte strings one after the other, each with its length before it, so that no two lists look alike.
private struct FieldWriter {
    private(set) var bytes: [UInt8]

    init(version: UInt8) { self.bytes = [version] }

    mutating func append(_ part: [UInt8]) {
        withUnsafeBytes(of: UInt32(part.count).bigEndian) { self.bytes.append(contentsOf: $0) }
        self.bytes.append(contentsOf: part)
    }
}

extension MobileTokenError {
    /// Returns the error of a stored value that is missing or fails authentication.
    static func damaged(_ name: String) -> Self {
        Self(.storeCorrupted, "The stored value '\(name)' is missing, damaged or was exchanged")
    }
}
