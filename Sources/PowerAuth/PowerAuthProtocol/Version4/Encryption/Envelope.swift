import PowerAuthCrypto

extension Version4 {
    /// The protection of one exchange: a 24-byte nonce, and the keys derived for it. The first half of the nonce seals the
    /// request, the second the response.
    package struct Envelope: Sendable {
        package enum Direction {
            case request, response
        }

        static let nonceByteCount = 2 * AuthenticatedEncryption.nonceByteCount

        let nonce: [UInt8]
        private let parameters: EncryptionParameters
        private let encryption: AuthenticatedEncryption

        /// - Parameter nonce: Its halves must differ, otherwise a request could pass for its response.
        package init(parameters: EncryptionParameters, nonce: [UInt8]) throws(EncryptionError) {
            guard nonce.count == Self.nonceByteCount,
                nonce.prefix(AuthenticatedEncryption.nonceByteCount)
                    != nonce.suffix(AuthenticatedEncryption.nonceByteCount)
            else { throw .malformed(member: "nonce") }
            self.nonce = nonce
            self.parameters = parameters
            do throws(CryptoError) {
                self.encryption = try AuthenticatedEncryption(
                    key: parameters.temporaryKey,
                    context: parameters.keyContext(nonce: nonce)
                )
            } catch {
                throw .crypto(error)
            }
        }

        /// Seals one direction with its half of the nonce.
        package func seal(
            _ plaintext: [UInt8],
            _ direction: Direction,
            timestamp: Int64
        ) throws(EncryptionError) -> [UInt8] {
            do throws(CryptoError) {
                return try self.encryption.seal(
                    plaintext,
                    nonce: [UInt8](self.half(direction)),
                    associatedData: self.parameters.associatedData(timestamp: timestamp, nonce: self.nonce)
                )
            } catch {
                throw .crypto(error)
            }
        }

        /// Opens one direction with its half of the nonce.
        package func open(
            _ sealed: [UInt8],
            _ direction: Direction,
            timestamp: Int64
        ) throws(EncryptionError) -> [UInt8] {
            guard sealed.count >= AuthenticatedEncryption.overheadByteCount, sealed.starts(with: self.half(direction))
            else { throw .malformed(member: "encryptedData") }
            do throws(CryptoError) {
                return try self.encryption.open(
                    sealed,
                    associatedData: self.parameters.associatedData(timestamp: timestamp, nonce: self.nonce)
                )
            } catch {
                throw error.code == .authenticationFailed ? .authenticationFailed : .crypto(error)
            }
        }

        private func half(_ direction: Direction) -> ArraySlice<UInt8> {
            switch direction {
            case .request: self.nonce.prefix(AuthenticatedEncryption.nonceByteCount)
            case .response: self.nonce.suffix(AuthenticatedEncryption.nonceByteCount)
            }
        }
    }
}
