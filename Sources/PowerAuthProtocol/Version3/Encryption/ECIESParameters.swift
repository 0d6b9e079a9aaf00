import Basics
package import PowerAuthCrypto

/// Whose keys protect an encrypted request.
package enum ECIESScope: Sendable, Equatable {
    /// The application's: nothing of an activation is needed.
    case application
    /// One activation's: only its holder and the server can make or open the envelope.
    case activation(id: String, transportKey: SecretBytes)
}

/// What client and server must agree on before a request can be encrypted.
package struct ECIESParameters: Sendable, Equatable {
    package let version: ProtocolVersion
    package let applicationKey: String
    package let applicationSecret: ApplicationSecret
    package let scope: ECIESScope
    package let path: ECIESPath
    /// The temporary key of version 3.3; ignored before.
    package let temporaryKeyID: String?

    package init(
        version: ProtocolVersion,
        applicationKey: String,
        applicationSecret: ApplicationSecret,
        scope: ECIESScope,
        path: ECIESPath,
        temporaryKeyID: String?
    ) {
        self.version = version
        self.applicationKey = applicationKey
        self.applicationSecret = applicationSecret
        self.scope = scope
        self.path = path
        self.temporaryKeyID = version.usesTemporaryKeys ? temporaryKeyID : nil
    }

    /// The identifier of the activation, in its scope.
    package var activationID: String? {
        switch self.scope {
        case .application: nil
        case .activation(let id, _): id
        }
    }

    /// The header of an encrypted request that is not signed as well.
    package var header: EncryptionHeader {
        EncryptionHeader(
            applicationKey: self.applicationKey,
            activationID: self.activationID,
            version: self.version
        )
    }

    /// `sharedInfo1`, which goes into the envelope key: version and path; in 3.1 the path alone.
    package var sharedInfo1: [UInt8] {
        Array((self.version.usesTimestamps ? self.version.rawValue : "").utf8) + self.path.rawValue.utf8
    }

    /// The base of `sharedInfo2`: `SHA-256(APP_SECRET)`, or `HMAC(KEY_TRANSPORT, APP_SECRET)` in the scope of an
    /// activation, both of the secret as text.
    package var sharedInfo2Base: [UInt8] {
        self.applicationSecret.text.withUnsafeBytes { secret in
            let secret = [UInt8](secret)
            return switch self.scope {
            case .application: SHA256.hash(secret)
            case .activation(_, let transportKey): HMACSHA256.authenticate(secret, key: transportKey)
            }
        }
    }

    /// The associated data: version, application key, activation identifier and temporary key identifier, as far as there
    /// are any, each after its length.
    package var associatedData: [UInt8] {
        [self.version.rawValue, self.applicationKey, self.activationID, self.temporaryKeyID]
            .compactMap(\.self)
            .reduce(into: []) { data, part in data.appendWithLength(part.utf8) }
    }

    /// `sharedInfo2`, which is authenticated after the encrypted bytes: base, nonce, timestamp (8 bytes), ephemeral key
    /// and associated data, each after its length. In 3.1 the base alone, without length.
    ///
    /// - Parameter ephemeralPublicKey: As transmitted; empty in an answer.
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
