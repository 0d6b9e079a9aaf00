import Basics
package import PowerAuthCrypto

extension Version4 {
    /// The values that client and server must agree on before a request can be encrypted.
    package struct EncryptionParameters: Sendable, Equatable {
        /// The keys that protect a request.
        package enum Scope: Sendable, Equatable {
            /// The application's keys. No activation is needed.
            case application
            /// One activation's keys.
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
        /// `sharedInfo2`: `SHA3(APP_SECRET)`, or in the scope of an activation its KMAC, of the secret's 16 bytes.
        package let sharedInfo2: [UInt8]

        /// Creates parameters.
        ///
        /// - Parameters:
        ///   - temporaryKeyID: The identifier of a key that was fetched in the same scope.
        ///   - temporaryKey: The shared secret of that key, 32 bytes.
        /// - Throws: `wrongScope` when the purpose belongs to the other scope, `crypto` for a key that KMAC does not take.
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
                    // Not wiped: the envelope's key, which comes next, takes the place of this one.
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

        /// The identifier of the activation, in its scope.
        package var activationID: String? {
            switch self.scope {
            case .application: nil
            case .activation(let id, _): id
            }
        }

        /// The header of an encrypted request that carries no code of version 4.
        package var header: EncryptionHeader {
            EncryptionHeader(applicationKey: self.applicationKey, activationID: self.activationID)
        }

        /// Returns the context of an envelope's keys: version, `sharedInfo1` and nonce, without lengths.
        package func keyContext(nonce: [UInt8]) -> [UInt8] {
            var context = [UInt8]()
            context.reserveCapacity(64)
            context += Version4.name.utf8
            context += self.purpose.rawValue.utf8
            context += nonce
            return context
        }

        /// Returns the data that an envelope authenticates beside its content: version, application key, activation identifier (in its scope)
        /// and temporary key identifier, then timestamp, nonce and ``sharedInfo2``, each after its length.
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
