import Basics
import MobileToken
package import PowerAuthCrypto
import PowerAuthProtocol
import SignedContent

extension OfflineOperation {
    /// The parts of an offline QR code. Show nothing of them before ``verified(by:)``.
    public struct Unverified: Sendable {
        /// The server's key that should verify the signature.
        public let signingKey: OfflineOperation.SigningKey

        private let operation: OfflineOperation
        private let signedBytes: [UInt8]
        private let signature: [UInt8]

        /// Parses the string of a QR code.
        public init(parsing text: String) throws(OfflineOperation.ParsingError) {
            try self.init(parsing: Array(text.utf8))
        }

        /// Parses the bytes of a QR code. Any bytes give a value or an error that names the line.
        public init(parsing bytes: [UInt8]) throws(OfflineOperation.ParsingError) {
            guard String(validating: bytes, as: UTF8.self) != nil else {
                throw OfflineOperation.ParsingError(.invalidText)
            }
            let lines: OfflineCodeLines
            do { lines = try OfflineCodeLines(bytes) } catch {
                throw OfflineOperation.ParsingError(.missingLine, line: error.line)
            }
            guard Self.isIdentifier(lines.operationID) else {
                throw OfflineOperation.ParsingError(.invalidOperationID, line: 1)
            }
            let operationData: UserOperation.SignedData
            do { operationData = try UserOperation.SignedData(parsing: lines.data) } catch {
                throw OfflineOperation.ParsingError(.init(error.kind), line: 4, field: error.field)
            }
            let nonce = String(decoding: lines.nonce, as: UTF8.self)
            guard Base64.decode(nonce)?.count == 16 else {
                throw OfflineOperation.ParsingError(.invalidNonce, line: lines.count - 1)
            }
            guard let signingKey = lines.signature.first.flatMap(OfflineOperation.SigningKey.init),
                let signature = Base64.decode(String(decoding: lines.signature.dropFirst(), as: UTF8.self)),
                signingKey.signatureByteCounts.contains(signature.count)
            else { throw OfflineOperation.ParsingError(.malformedSignature, line: lines.count) }

            let totp = lines.oneTimeCode
            var dataToSign = lines.operationID + [UInt8(ascii: "&")] + lines.data
            if let totp { dataToSign += [UInt8(ascii: "&")] + totp }

            self.signingKey = signingKey
            self.signature = signature
            self.signedBytes = Array(bytes[...lines.signature.startIndex])
            self.operation = OfflineOperation(
                id: String(decoding: lines.operationID, as: UTF8.self),
                title: OfflineString.unescaped(lines.title, separator: nil),
                message: OfflineString.unescaped(lines.message, separator: nil),
                operationData: operationData,
                flags: OfflineOperation.Flags(text: String(decoding: lines.flags, as: UTF8.self)),
                totp: totp.flatMap { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) },
                additionalLines: lines.later.map { String(decoding: $0, as: UTF8.self) },
                nonce: nonce,
                signingKey: signingKey,
                dataToSign: Array(dataToSign)
            )
        }

        /// Returns whether the bytes have visible content, no control characters, and no byte-order mark, which often precedes
        /// text unseen.
        private static func isIdentifier(_ bytes: ArraySlice<UInt8>) -> Bool {
            let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
            return scalars.contains { !$0.properties.isWhitespace }
                && !scalars.contains(where: \.isControlOrByteOrderMark)
        }

        /// Returns the operation if `isValid` finds that the server signed the bytes as received.
        ///
        /// - Parameter isValid: Verifies an ECDSA signature in DER (SHA-256; SHA-384 in version 4 of the protocol) with the named
        ///   key, or for ``OfflineOperation/SigningKey/shared`` a 32-byte code.
        /// - Throws: `signatureMismatch`, or any error of `isValid`.
        public func verified(
            by isValid: (_ key: OfflineOperation.SigningKey, _ signature: [UInt8], _ message: [UInt8]) throws -> Bool
        ) throws -> OfflineOperation {
            guard try isValid(self.signingKey, self.signature, self.signedBytes) else {
                throw OfflineOperation.ParsingError(.signatureMismatch)
            }
            return self.operation
        }

        /// Returns the operation if the server's named key signed it.
        package func verified(
            masterKey: P256PublicKey,
            serverKey: P256PublicKey
        ) throws(OfflineOperation.ParsingError) -> OfflineOperation {
            let key = self.signingKey == .master ? masterKey : serverKey
            guard self.signingKey != .shared, key.isValid(derSignature: self.signature, for: self.signedBytes) else {
                throw OfflineOperation.ParsingError(.signatureMismatch)
            }
            return self.operation
        }
    }
}

extension OfflineOperation.SigningKey {
    /// The possible lengths of the server's signature.
    fileprivate var signatureByteCounts: ClosedRange<Int> {
        switch self {
        case .master, .personalized: 64...255
        case .shared: 32...32
        }
    }
}

extension OfflineOperation.Unverified: CustomStringConvertible {
    /// A fixed string, because no signature vouches for the content yet.
    public var description: String { "<unverified offline operation>" }
}

extension OfflineOperation.Unverified: Opaque {}
