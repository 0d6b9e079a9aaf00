import Basics
package import PowerAuthCrypto

/// The keys that encrypt a request.
package enum ECIESScope: Sendable, Equatable {
    /// The application's keys. No activation is needed.
    case application
    /// An activation's keys, known only to its holder and the server.
    case activation(id: String, transportKey: SecretBytes)
}

/// The values that client and server share for encrypting a request.
package struct ECIESParameters: Sendable, Equatable {
    package let version: ProtocolVersion
    package let applicationKey: String
    package let applicationSecret: ApplicationSecret
    package let scope: ECIESScope
    package let purpose: ECIESPurpose
    /// The identifier of the temporary key; `nil` before version 3.3.
    package let temporaryKeyID: String?

    /// - Parameter temporaryKeyID: Required from version 3.3 on, ignored before.
    package init(
        version: ProtocolVersion,
        applicationKey: String,
        applicationSecret: ApplicationSecret,
        scope: ECIESScope,
        purpose: ECIESPurpose,
        temporaryKeyID: String?
    ) {
        self.version = version
        self.applicationKey = applicationKey
        self.applicationSecret = applicationSecret
        self.scope = scope
        self.purpose = purpose
        self.temporaryKeyID = version.usesTemporaryKeys ? temporaryKeyID : nil
    }

    /// The activation's identifier; `nil` in the application scope.
    package var activationID: String? {
        switch self.scope {
        case .application: nil
        case .activation(let id, _): id
        }
    }

    /// The header of an encrypted, unsigned request.
    package var header: EncryptionHeader {
        EncryptionHeader(
            applicationKey: self.applicationKey,
            activationID: self.activationID,
            version: self.version
        )
    }

    /// `sharedInfo1`, for deriving the envelope's keys: version and purpose; in 3.1 only the purpose.
    package var sharedInfo1: [UInt8] {
        Array((self.version.usesTimestamps ? self.version.rawValue : "").utf8) + self.purpose.rawValue.utf8
    }

    /// The base of `sharedInfo2`: `SHA-256(APP_SECRET)`, or `HMAC(KEY_TRANSPORT, APP_SECRET)` in the activation scope, both of
    /// the Base64 form.
    package var sharedInfo2Base: [UInt8] {
        self.applicationSecret.base64Bytes.withUnsafeBytes { secret in
            let secret = [UInt8](secret)
            return switch self.scope {
            case .application: SHA256.hash(secret)
            case .activation(_, let transportKey): HMACSHA256.authenticate(secret, key: transportKey)
            }
        }
    }

    /// The associated data: version, application key, activation identifier and temporary key identifier, as far as present, with
    /// length prefixes.
    package var associatedData: [UInt8] {
        [self.version.rawValue, self.applicationKey, self.activationID, self.temporaryKeyID]
            .compactMap(\.self)
            .reduce(into: []) { data, part in data.appendWithLength(part.utf8) }
    }

    /// Returns `sharedInfo2`, which is authenticated after the ciphertext: base, nonce, timestamp (8 bytes), ephemeral key and
    /// associated data, with length prefixes. In 3.1 only the base, without a prefix.
    ///
    /// - Parameter ephemeralPublicKey: As sent; empty in a response.
    package func sharedInfo2(nonce: [UInt8], timestamp: Int64?, ephemeralPublicKey: [UInt8]) -> [UInt8] {
        guard self.version.usesTimestamps else { return self.sharedInfo2Base }
        var info = [UInt8]()
        info.reserveCapacity(256)
        info.appendWithLength(self.sharedInfo2Base)
        info.appendWithLength(nonce)
        info.appendWithLength(timestamp?.bigEndianBytes ?? [])
        info.appendWithLength(ephemeralPublicKey)
        info.appendWithLength(self.associatedData)
        return info
    }
}
