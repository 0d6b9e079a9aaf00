package import PowerAuthCrypto

extension Version4 {
    /// The values that client and server share for encrypting a request.
    package struct EncryptionParameters: Sendable, Equatable {
        package enum Scope: Sendable, Equatable {
            /// The application's keys. No activation is needed.
            case application
            /// An activation's keys.
            ///
            /// - Parameter sharedInfo2Key: ``ActivationKeys/Utility/sharedInfo2``.
            case activation(id: String, sharedInfo2Key: SecretBytes)
        }

        package let applicationKey: String
        package let scope: Scope
        package let purpose: EncryptionPurpose
        package let temporaryKeyID: String
        /// The shared secret of the temporary key.
        let temporaryKey: SecretBytes
        /// `sharedInfo2`: `SHA3(APP_SECRET)`, or in the activation scope its KMAC, of the secret's 16 bytes.
        package let sharedInfo2: [UInt8]

        /// - Parameters:
        ///   - temporaryKeyID: The identifier of a key fetched in the same scope.
        ///   - temporaryKey: The key's shared secret, 32 bytes.
        /// - Throws: `wrongScope` if the purpose belongs to the other scope, `crypto` for a key that KMAC does not accept.
        package init(
            applicationKey: String,
            applicationSecret: ApplicationSecret,
            scope: Scope,
            purpose: EncryptionPurpose,
            temporaryKeyID: String,
            temporaryKey: SecretBytes
        ) throws(EncryptionError) {
            self.applicationKey = applicationKey
            self.scope = scope
            self.purpose = purpose
            self.temporaryKeyID = temporaryKeyID
            self.temporaryKey = temporaryKey
            switch (scope, purpose.scope) {
            case (.application, .application):
                self.sharedInfo2 = SHA3.hash(applicationSecret.bytes).disclosed
            case (.activation(_, let key), .activation):
                do throws(CryptoError) {
                    let secret = applicationSecret.bytes
                    // Not wiped: the envelope's key replaces it next.
                    self.sharedInfo2 = try KMAC256.authenticate(key: key, customization: "PA4SH2") {
                        $0.update(secret)
                    }
                } catch {
                    throw .crypto(error)
                }
            default:
                throw .wrongScope
            }
        }

        /// The activation's identifier; `nil` in the application scope.
        package var activationID: String? {
            switch self.scope {
            case .application: nil
            case .activation(let id, _): id
            }
        }

        /// The header of an encrypted request without a version 4 code.
        package var header: EncryptionHeader {
            EncryptionHeader(applicationKey: self.applicationKey, activationID: self.activationID)
        }

        /// Returns the context of an envelope's keys: version, `sharedInfo1` and nonce, without length prefixes.
        package func keyContext(nonce: [UInt8]) -> [UInt8] {
            var context = [UInt8]()
            context.reserveCapacity(64)
            context += Version4.name.utf8
            context += self.purpose.rawValue.utf8
            context += nonce
            return context
        }

        /// Returns the associated data of an envelope: version, application key, activation identifier (in its scope), temporary
        /// key identifier, timestamp, nonce and ``sharedInfo2``, with length prefixes.
        package func associatedData(timestamp: Int64, nonce: [UInt8]) -> [UInt8] {
            var data = [UInt8]()
            data.reserveCapacity(256)
            data.appendWithLength(Version4.name.utf8)
            data.appendWithLength(self.applicationKey.utf8)
            if let activationID { data.appendWithLength(activationID.utf8) }
            data.appendWithLength(self.temporaryKeyID.utf8)
            withUnsafeBytes(of: timestamp.bigEndian) { data.appendWithLength($0) }
            data.appendWithLength(nonce)
            data.appendWithLength(self.sharedInfo2)
            return data
        }
    }
}
