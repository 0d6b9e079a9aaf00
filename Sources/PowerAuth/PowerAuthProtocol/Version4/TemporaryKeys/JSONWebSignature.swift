import ExactJSON
import PowerAuthCrypto

/// A JSON web signature in general serialization: one payload with a signature per algorithm of a suite.
package struct JSONWebSignature: Sendable {
    /// A signature algorithm with its name in a protected header.
    fileprivate enum Algorithm: String {
        case es384 = "ES384"
        case mlDSA65 = "ML-DSA-65"
        case mlDSA87 = "ML-DSA-87"

        static func all(of suite: AlgorithmSuite) -> Set<Self> {
            switch suite {
            case .p384: [.es384]
            case .p384MLLevel3: [.es384, .mlDSA65]
            case .p384MLLevel5: [.es384, .mlDSA87]
            }
        }
    }

    fileprivate struct Part {
        /// `nil` if unknown, or if the header demands extensions.
        let algorithm: Algorithm?
        let signingInput: [UInt8]
        let signature: [UInt8]
    }

    /// The signed bytes. Verify the signatures before using them.
    package let payload: [UInt8]
    private let parts: [Part]

    /// Parses a signature; `nil` if malformed.
    package init?(_ string: String) {
        guard let root = try? JSONDocument(parsing: Array(string.utf8)).root,
            let encoded = root["payload"]?.string, let payload = Base64URL.decode(encoded), !payload.isEmpty,
            let signatures = root["signatures"], signatures.isArray
        else { return nil }
        var parts: [Part] = []
        for signature in signatures.elements {
            guard let part = Part(signature, payload: encoded) else { return nil }
            parts.append(part)
        }
        self.payload = payload
        self.parts = parts
    }

    package enum Refusal: Error, Equatable, Sendable {
        /// There is not exactly one signature per algorithm of the suite.
        case wrongAlgorithms
        case invalidSignature
    }

    /// Throws unless there is exactly one valid signature per algorithm of the suite.
    package func verify(signedBy keys: Version4.SigningPublicKeys) throws(Refusal) {
        let expected = Algorithm.all(of: keys.suite)
        guard self.parts.count == expected.count, Set(self.parts.compactMap(\.algorithm)) == expected else {
            throw .wrongAlgorithms
        }
        for part in self.parts where !part.isValid(signedBy: keys) { throw .invalidSignature }
    }
}

extension JSONWebSignature.Part {
    init?(_ view: JSONView, payload: String) {
        guard let header = view["protected"]?.string, let headerBytes = Base64URL.decode(header),
            let headerRoot = try? JSONDocument(parsing: headerBytes).root, let name = headerRoot["alg"]?.string,
            let signature = view["signature"]?.string, let signatureBytes = Base64URL.decode(signature)
        else { return nil }
        if case .absent = headerRoot.member("crit") {
            self.algorithm = JSONWebSignature.Algorithm(rawValue: name)
        } else {
            self.algorithm = nil
        }
        self.signingInput = Array("\(header).\(payload)".utf8)
        self.signature = signatureBytes
    }

    func isValid(signedBy keys: Version4.SigningPublicKeys) -> Bool {
        switch self.algorithm {
        case nil: false
        case .es384: keys.ecdsa.isValid(rawSignature: self.signature, for: self.signingInput)
        case .mlDSA65, .mlDSA87: keys.mldsa?.isValid(self.signature, for: self.signingInput) ?? false
        }
    }
}
