import Basics
package import PowerAuthCrypto

/// Seals activations for a store: AES-256-GCM with one key, each value bound to its activation and name. A changed, exchanged or
/// moved value cannot be decrypted. Values that are not secret stay readable, and are authenticated together. Unchanged fields
/// keep their bytes, so a store writes little.
package struct Sealing: Sendable {
    package static let keyByteCount = 32

    /// The version of the layout of nonce, ciphertext and associated data; authenticated.
    private static let version: UInt8 = 1
    /// The field that authenticates the open ones.
    private static let openFieldsTag: ExactString = "open-fields-tag"

    private let key: SecretBytes

    /// Creates a sealing with a 32-byte random key.
    ///
    /// - Throws: `storeSealingKeyMissing` for another length.
    package init(key: SecretBytes) throws {
        guard key.count == Self.keyByteCount else {
            throw MobileTokenError(
                .storeSealingKeyMissing,
                "A sealing key is \(Self.keyByteCount) bytes long, not \(key.count)"
            )
        }
        self.key = key
    }

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

    /// Decrypts an activation.
    ///
    /// - Throws: `storeCorrupted` if a value is missing or fails authentication, also with a wrong key; see
    ///   ``matches(keyCheck:)``.
    package func open(_ sealed: SealedActivation) throws -> ActivationRecord { try self.opened(sealed).record }

    struct Opened {
        fileprivate let cipher: FieldCipher
        fileprivate let fields: RecordFields
        let record: ActivationRecord

        /// Returns the fields of a record. Those of a record whose counter alone has moved are not taken apart again.
        fileprivate func fields(of record: ActivationRecord) -> RecordFields {
            var rest = record
            rest.ledger = self.record.ledger
            guard rest == self.record, !self.fields.haveTwoTokens(for: record) else { return RecordFields(record) }
            var fields = self.fields
            fields.write(record.ledger)
            return fields
        }
    }

    func opened(_ sealed: SealedActivation) throws -> Opened {
        let cipher = self.cipher(of: sealed.activationID)
        let fields = try self.fields(of: sealed, cipher)
        return Opened(cipher: cipher, fields: fields, record: try fields.record(activationID: sealed.activationID))
    }

    /// Seals the differences between a record and the decrypted one.
    func changes(from opened: Opened, to record: ActivationRecord) throws -> SealedActivation.Changes {
        let cipher = opened.cipher
        let (before, after) = (opened.fields, opened.fields(of: record))
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

    /// Reseals an activation with another key, whatever its fields mean.
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

    /// Returns a value that identifies this key without revealing it. Store it with the first activation, and check it before
    /// writing: a store with values under two keys is lost.
    package func makeKeyCheck() throws -> [UInt8] {
        try self.cipher(of: "").seal(SecretBytes(copying: []), name: "key-check").bytes
    }

    /// Returns whether this key made the value in ``makeKeyCheck()``.
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

    func cipher(of activationID: String) -> FieldCipher {
        FieldCipher(key: self.key, activationID: activationID)
    }

    /// Seals and decrypts the values of one activation.
    struct FieldCipher {
        /// Derived for the activation, so that random nonces stay safe: 2³² values per key suffice for thirteen years with ten
        /// signatures a second.
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

        /// Returns the associated data of a sealed field: version, activation and name, each with its length.
        private func context(of name: String) -> [UInt8] {
            var context = FieldWriter(version: Sealing.version)
            context.append(self.activationID)
            context.append(Array(name.utf8))
            return context.bytes
        }

        /// Returns the associated data of the tag: its own name, then every open field in the order of names.
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
    /// Seals bytes, bound to an activation and a name.
    package func seal(_ bytes: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        try self.cipher(of: activationID).seal(SecretBytes(copying: bytes), name: name).bytes
    }

    /// Decrypts sealed bytes.
    ///
    /// - Throws: `storeCorrupted` if they fail authentication.
    package func open(_ sealed: [UInt8], as name: String, of activationID: String) throws -> [UInt8] {
        let field = SealedActivation.Field(name: name, isSealed: true, bytes: sealed)
        return try self.cipher(of: activationID).open(field).withUnsafeBytes { Array($0) }
    }
}

/// A sequence of byte strings with length prefixes, so that different lists have different encodings.
private struct FieldWriter {
    private(set) var bytes: [UInt8]

    init(version: UInt8) { self.bytes = [version] }

    mutating func append(_ part: [UInt8]) {
        withUnsafeBytes(of: UInt32(part.count).bigEndian) { self.bytes.append(contentsOf: $0) }
        self.bytes.append(contentsOf: part)
    }
}

extension MobileTokenError {
    static func damaged(_ name: String) -> Self {
        Self(.storeCorrupted, "The stored value '\(name)' is missing, damaged or was exchanged")
    }
}
