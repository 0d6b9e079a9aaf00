import Foundation
import PowerAuthCrypto

/// A JSON web token in its three parts, whose signature has not been checked yet.
package struct JSONWebToken: Sendable {
    /// The algorithms that the protocol uses.
    package enum Algorithm: String, Sendable {
        /// HMAC with SHA-256.
        case hs256 = "HS256"
        /// HMAC with SHA-384.
        case hs384 = "HS384"
        /// ECDSA over P-256 with SHA-256, the signature as r‖s.
        case es256 = "ES256"
        /// ECDSA over P-384 with SHA-384, the signature as r‖s.
        case es384 = "ES384"
        /// ML-DSA of FIPS 204.
        case mldsa65 = "ML-DSA-65"
        /// ML-DSA of FIPS 204.
        case mldsa87 = "ML-DSA-87"
    }

    private struct Header: Codable {
        let alg: String
        let typ: String?
        let crit: [String]?
    }

    /// The bytes that the signature covers: the first two parts with the dot between them.
    package let signingInput: [UInt8]
    /// The signature, the third part.
    package let signature: [UInt8]
    /// The algorithm that the header names; `nil` for any other, and when the header demands extensions.
    package let algorithm: Algorithm?
    /// The bytes that were signed. Check the signature before using them.
    package let payload: [UInt8]

    /// Splits a token: three parts in base64url, the first a JSON object.
    ///
    /// - Returns: `nil` when `string` is no token.
    package init?(_ string: String) {
        // By bytes: a dot with a combining mark behind it is no dot to a `String`.
        let parts = string.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 3,
            let headerBytes = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), !payload.isEmpty,
            let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = try? JSONDecoder().decode(Header.self, from: Data(headerBytes))
        else { return nil }
        self.signingInput = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
        self.algorithm = header.crit == nil ? Algorithm(rawValue: header.alg) : nil
        self.payload = payload
    }

    /// Returns the claims. Check the signature before using them.
    package func claims<Claims: Decodable>(_ type: Claims.Type) -> Claims? {
        try? JSONDecoder().decode(type, from: Data(self.payload))
    }

    /// Returns a token that `sign` signs.
    package static func encode<Failure: Error>(
        claims: some Encodable,
        algorithm: Algorithm,
        sign: ([UInt8]) throws(Failure) -> [UInt8]
    ) throws(Failure) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always encode; any receiver would refuse an empty payload.
        let payload = (try? encoder.encode(claims)).map { [UInt8]($0) } ?? []
        let header = Array(#"{"alg":"\#(algorithm.rawValue)","typ":"JWT"}"#.utf8)
        let signingInput = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
        let signature = try sign(Array(signingInput.utf8))
        return "\(signingInput).\(Base64URL.encode(signature))"
    }
}
