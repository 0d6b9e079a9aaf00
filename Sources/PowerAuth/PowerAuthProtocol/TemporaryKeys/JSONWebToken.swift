import Foundation
import PowerAuthCrypto

/// A JSON web token, split but not verified.
package struct JSONWebToken: Sendable {
    package enum Algorithm: String, Sendable {
        /// HMAC with SHA-256.
        case hs256 = "HS256"
        /// HMAC with SHA-384.
        case hs384 = "HS384"
        /// ECDSA with P-256 and SHA-256, signature r‖s.
        case es256 = "ES256"
        /// ECDSA with P-384 and SHA-384, signature r‖s.
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

    /// The signed bytes: the first two parts with their dot.
    package let signingInput: [UInt8]
    /// The third part.
    package let signature: [UInt8]
    /// The algorithm in the header; `nil` if unknown, or if the header demands extensions.
    package let algorithm: Algorithm?
    /// The signed bytes. Verify the signature before using them.
    package let payload: [UInt8]

    /// Splits a token: three parts in base64url, the first a JSON object; `nil` if malformed.
    package init?(_ string: String) {
        // Split bytes: a `String` does not find a dot with a combining mark.
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

    /// Decodes the claims. Verify the signature before using them.
    package func claims<Claims: Decodable>(_ type: Claims.Type) -> Claims? {
        try? JSONDecoder().decode(type, from: Data(self.payload))
    }

    /// Returns a token, signed by `sign`.
    package static func encode<Failure: Error>(
        claims: some Encodable,
        algorithm: Algorithm,
        sign: ([UInt8]) throws(Failure) -> [UInt8]
    ) throws(Failure) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always encode; receivers would refuse an empty payload.
        let payload = (try? encoder.encode(claims)).map { [UInt8]($0) } ?? []
        let header = Array(#"{"alg":"\#(algorithm.rawValue)","typ":"JWT"}"#.utf8)
        let signingInput = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
        let signature = try sign(Array(signingInput.utf8))
        return "\(signingInput).\(Base64URL.encode(signature))"
    }
}
