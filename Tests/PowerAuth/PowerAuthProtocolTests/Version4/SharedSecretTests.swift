import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SharedSecretTests {
    @Test func anyBitFlippedInARequestIsRefused() throws {
        var generator = SeededGenerator()
        let request = try generator.agreement(.p384).request
        let server = try generator.p384PrivateKey()
        for changed in try encodeJSON(request).withOneBitFlipped {
            #expect(throws: (any Error).self, "\(generator)") {
                let request = try decodeJSON(Version4.SharedSecretRequest.self, changed)
                _ = try request.agree(ephemeralKey: server, salt: [UInt8](repeating: 1, count: 32))
            }
        }
    }

    /// A changed salt, or a ciphertext of ML-KEM, cannot be refused: it leads to another secret.
    @Test func noBitFlippedInAResponseLeadsToTheSecret() throws {
        var generator = SeededGenerator()
        let clientKey = try generator.p384PrivateKey()
        let agreement = {
            try Version4.SharedSecretAgreement(suite: .p384, ecKey: clientKey, mlkemSeed: .init(copying: []))
        }
        let made = try agreement().request.agree(ephemeralKey: generator.p384PrivateKey(), salt: generator.bytes(32))
        #expect(try agreement().secret(from: made.response) == made.secret)
        for changed in try encodeJSON(made.response).withOneBitFlipped {
            guard let response = try? decodeJSON(Version4.SharedSecretResponse.self, changed) else { continue }
            let secret = try? agreement().secret(from: response)
            #expect(secret != made.secret, "\(generator)")
        }
    }

    @Test(.postQuantum, arguments: AlgorithmSuite.hybrid)
    func noBitFlippedLeadsToTheSecretInHybridSuites(suite: AlgorithmSuite) throws {
        var generator = SeededGenerator()
        let (clientKey, seed) = (try generator.p384PrivateKey(), generator.secret(64))
        let agreement = { try Version4.SharedSecretAgreement(suite: suite, ecKey: clientKey, mlkemSeed: seed) }
        let request = try agreement().request
        let made = try request.agree(ephemeralKey: generator.p384PrivateKey(), salt: generator.bytes(32))
        #expect(try agreement().secret(from: made.response) == made.secret)
        for changed in generator.oneBitFlipped(in: try encodeJSON(made.response)) {
            guard let response = try? decodeJSON(Version4.SharedSecretResponse.self, changed) else { continue }
            #expect((try? agreement().secret(from: response)) != made.secret, "\(generator)")
        }
        for changed in generator.oneBitFlipped(in: try encodeJSON(request)) {
            guard let request = try? decodeJSON(Version4.SharedSecretRequest.self, changed),
                let other = try? request.agree(ephemeralKey: clientKey, salt: made.response.salt)
            else { continue }
            #expect((try? agreement().secret(from: other.response)) != other.secret, "\(generator)")
        }
    }

    @Test(.postQuantum)
    func suitesDoNotMix() throws {
        var generator = SeededGenerator()
        for suite in AlgorithmSuite.allCases {
            let request = try generator.agreement(suite).request
            let made = try request.agree(ephemeralKey: generator.p384PrivateKey(), salt: generator.bytes(32))
            for other in AlgorithmSuite.allCases where other != suite {
                #expect(throws: Version4.SharedSecretError.malformed(member: "encapsulationKeys")) {
                    try Version4.SharedSecretRequest(suite: other, encapsulationKeys: request.encapsulationKeys)
                }
                let error = #expect(throws: Version4.SharedSecretError.self) {
                    _ = try generator.agreement(other).secret(from: made.response)
                }
                #expect(error == .malformed(member: "encapsulatedKeys"))
            }
        }
    }

    @Test func wrongLengthsAreRefusedBeforeAnyArithmetic() throws {
        var generator = SeededGenerator()
        let point = try generator.p384PrivateKey().publicKey
        let salt = generator.bytes(32)
        let refused: [([UInt8], [[UInt8]], String)] = [
            ([], [point.uncompressed], "salt"), ([UInt8](salt.dropLast()), [point.uncompressed], "salt"),
            (salt + [0], [point.uncompressed], "salt"), (salt, [], "encapsulatedKeys"),
            (salt, [[]], "encapsulatedKeys"), (salt, [point.compressed], "encapsulatedKeys"),
            (salt, [point.uncompressed, point.uncompressed], "encapsulatedKeys"),
        ]
        for (salt, keys, member) in refused {
            let error = #expect(throws: Version4.SharedSecretError.self) {
                let response = Version4.SharedSecretResponse(salt: salt, encapsulatedKeys: keys)
                _ = try generator.agreement(.p384).secret(from: response)
            }
            #expect(error == .malformed(member: member))
        }
        let request = try generator.agreement(.p384).request
        #expect(throws: Version4.SharedSecretError.malformed(member: "salt")) {
            try request.agree(ephemeralKey: .generate(), salt: [1])
        }
    }

    @Test func signaturesOfASuiteAreAllNeeded() throws {
        var generator = SeededGenerator()
        let message = generator.bytes(30)
        for suite in AlgorithmSuite.available {
            let keys = try generator.signingKeys(suite)
            let signature = try keys.signature(for: message)
            #expect(keys.publicKeys.isValid(signature, for: message))
            #expect(!keys.publicKeys.isValid(signature, for: message + [0]))
            let other = try generator.signingKeys(suite).signature(for: message)
            var wrong = [Version4.Signature(ecdsa: other.ecdsa, mldsa: signature.mldsa)]
            if suite == .p384 {
                wrong.append(Version4.Signature(ecdsa: signature.ecdsa, mldsa: [1]))
            } else {
                wrong.append(Version4.Signature(ecdsa: signature.ecdsa, mldsa: nil))
                wrong.append(Version4.Signature(ecdsa: signature.ecdsa, mldsa: other.mldsa))
            }
            for signature in wrong { #expect(!keys.publicKeys.isValid(signature, for: message), "\(generator)") }
        }
    }

    @Test func publicKeysBelongToTheirSuite() throws {
        var generator = SeededGenerator()
        let point = try generator.p384PrivateKey().publicKey
        let info = [UInt8](repeating: 0, count: 1974)
        let missing = Version4.SharedSecretError.malformed(member: "mldsa")
        #expect(throws: missing) {
            try Version4.SigningPublicKeys(suite: .p384, ecdsa: point.uncompressed, mldsa: info)
        }
        for suite in AlgorithmSuite.hybrid {
            #expect(throws: missing) {
                try Version4.SigningPublicKeys(suite: suite, ecdsa: point.uncompressed, mldsa: nil)
            }
            #expect(throws: Version4.SharedSecretError.invalidKey) {
                try Version4.SigningPublicKeys(suite: suite, ecdsa: point.uncompressed, mldsa: info)
            }
        }
        let compressed = try Version4.SigningPublicKeys(suite: .p384, ecdsa: point.compressed, mldsa: nil)
        #expect(compressed.ecdsa == point)
        #expect(throws: Version4.SharedSecretError.invalidKey) {
            try Version4.SigningPublicKeys(suite: .p384, ecdsa: [0], mldsa: nil)
        }
    }
}
