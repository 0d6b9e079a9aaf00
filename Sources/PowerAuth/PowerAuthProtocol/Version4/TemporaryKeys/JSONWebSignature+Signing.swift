import ExactJSON
package import PowerAuthCrypto

extension JSONWebSignature {
    package struct Signer: Sendable {
        fileprivate let algorithm: String
        fileprivate let sign: @Sendable ([UInt8]) throws(CryptoError) -> [UInt8]
    }

    package static func sign(
        _ payload: [UInt8],
        with keys: Version4.SigningPrivateKeys
    ) throws(CryptoError) -> String {
        try self.general(payload, signedBy: keys.jwsSigners)
    }

    /// Returns `payload` in general serialization: JSON with a signature per key.
    ///
    /// - Parameter type: The `typ` header, such as `JWT`, if any.
    package static func general(
        _ payload: [UInt8],
        type: String? = nil,
        signedBy signers: [Signer]
    ) throws(CryptoError) -> String {
        let payload = Base64URL.encode(payload)
        var signatures: [JSONValue] = []
        for signer in signers {
            let (header, signature) = try signer.parts(payload, type: type)
            signatures.append(["protected": .string(header), "signature": .string(signature)])
        }
        let value: JSONValue = ["payload": .string(payload), "signatures": .array(signatures)]
        return String(decoding: value.serialized(), as: UTF8.self)
    }

    /// Returns `payload` in compact serialization: three parts joined by dots.
    ///
    /// - Parameter type: The `typ` header, such as `JWT`, if any.
    package static func compact(
        _ payload: [UInt8],
        type: String? = nil,
        signedBy signer: Signer
    ) throws(CryptoError) -> String {
        let payload = Base64URL.encode(payload)
        let (header, signature) = try signer.parts(payload, type: type)
        return "\(header).\(payload).\(signature)"
    }
}

extension JSONWebSignature.Signer {
    /// Returns the encoded protected header and signature.
    fileprivate func parts(
        _ payload: String,
        type: String?
    ) throws(CryptoError) -> (header: String, signature: String) {
        var members: JSONObject = ["alg": .string(self.algorithm)]
        members["typ"] = type.map { .string($0) }
        let header = Base64URL.encode(JSONValue.object(members).serialized())
        return (header, Base64URL.encode(try self.sign(Array("\(header).\(payload)".utf8))))
    }
}

extension P256PrivateKey {
    /// Signs with `ES256`.
    package var jwsSigner: JSONWebSignature.Signer {
        JSONWebSignature.Signer(algorithm: "ES256") { (input) throws(CryptoError) in
            try self.rawSignature(for: input)
        }
    }
}

extension Version4.SigningPrivateKeys {
    /// The signers per key: `ES384`, then ML-DSA if present.
    package var jwsSigners: [JSONWebSignature.Signer] {
        let ecdsa = JSONWebSignature.Signer(algorithm: "ES384") { (input) throws(CryptoError) in
            try self.ecdsa.rawSignature(for: input)
        }
        let mldsa = self.mldsa.map { key in
            JSONWebSignature.Signer(algorithm: key.publicKey.parameters.algorithm.rawValue) {
                (input) throws(CryptoError) in
                try key.signature(for: input)
            }
        }
        return [ecdsa] + [mldsa].compactMap(\.self)
    }
}
