import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EncryptionTests4 {
    private func parameters(
        _ purpose: Version4.EncryptionPurpose,
        _ generator: inout SeededGenerator
    ) throws -> Version4.EncryptionParameters {
        let scope: Version4.EncryptionParameters.Scope =
            switch purpose.scope {
            case .application: .application
            case .activation: .activation(id: generator.uuid(), sharedInfo2Key: generator.secret(32))
            }
        return try Version4.EncryptionParameters(
            applicationKey: Base64.encode(generator.bytes(16)),
            applicationSecret: generator.applicationSecret(),
            scope: scope,
            purpose: purpose,
            temporaryKeyID: generator.uuid(),
            temporaryKey: generator.secret(32)
        )
    }

    @Test(arguments: Version4.EncryptionPurpose.allCases)
    func anyBitFlippedIsRefused(purpose: Version4.EncryptionPurpose) throws {
        var generator = SeededGenerator()
        let parameters = try self.parameters(purpose, &generator)
        let plaintext = generator.bytes(upTo: 40)
        var client = Version4.ClientExchange(parameters: parameters)
        let request = try client.encryptRequest(plaintext, nonce: generator.bytes(24), timestamp: 1_770_000_000_000)
        for changed in try encodeJSON(request).withOneBitFlipped {
            #expect(throws: (any Error).self, "\(generator)") {
                var server = Version4.ServerExchange(parameters: parameters)
                _ = try server.decryptRequest(decodeJSON(Version4.EncryptedRequest.self, changed))
            }
        }
        var server = Version4.ServerExchange(parameters: parameters)
        #expect(try server.decryptRequest(request) == plaintext, "\(generator)")
        let answer = generator.bytes(upTo: 40)
        let response = try server.encryptResponse(answer, timestamp: 1_770_000_000_001)
        for changed in try encodeJSON(response).withOneBitFlipped {
            #expect(throws: (any Error).self, "\(generator)") {
                _ = try client.decryptResponse(decodeJSON(Version4.EncryptedResponse.self, changed))
            }
        }
        // None of them ended the exchange.
        #expect(try client.decryptResponse(response) == answer, "\(generator)")
        #expect(throws: EncryptionError.outOfOrder) { try client.decryptResponse(response) }
        #expect(throws: EncryptionError.outOfOrder) { try server.encryptResponse(answer, timestamp: 1) }
    }

    @Test func purposesAndScopesDoNotMix() throws {
        var generator = SeededGenerator()
        let secret = try generator.applicationSecret()
        for purpose in Version4.EncryptionPurpose.allCases {
            let wrong: Version4.EncryptionParameters.Scope =
                purpose.scope == .activation
                ? .application : .activation(id: "id", sharedInfo2Key: generator.secret(32))
            #expect(throws: EncryptionError.wrongScope) {
                try Version4.EncryptionParameters(
                    applicationKey: "key",
                    applicationSecret: secret,
                    scope: wrong,
                    purpose: purpose,
                    temporaryKeyID: "id",
                    temporaryKey: generator.secret(32)
                )
            }
        }
    }

    @Test func aRequestSentBackIsNoResponse() throws {
        var generator = SeededGenerator()
        let parameters = try self.parameters(.tokenCreate, &generator)
        var client = Version4.ClientExchange(parameters: parameters)
        let request = try client.encryptRequest([1], nonce: generator.bytes(24), timestamp: 5)
        let echo = Version4.EncryptedResponse(encryptedData: request.encryptedData, timestamp: 5)
        #expect(throws: EncryptionError.malformed(member: "encryptedData")) {
            try client.decryptResponse(echo)
        }
    }

    @Test func noncesOfTheWrongFormAreRefused() throws {
        var generator = SeededGenerator()
        let parameters = try self.parameters(.genericApplication, &generator)
        let half = generator.bytes(12)
        for nonce in [[], half, generator.bytes(23), generator.bytes(25), half + half] {
            var client = Version4.ClientExchange(parameters: parameters)
            #expect(throws: EncryptionError.malformed(member: "nonce")) {
                try client.encryptRequest([1], nonce: nonce, timestamp: 5)
            }
            var server = Version4.ServerExchange(parameters: parameters)
            let request = Version4.EncryptedRequest(
                temporaryKeyID: parameters.temporaryKeyID,
                encryptedData: generator.bytes(60),
                nonce: nonce,
                timestamp: 5
            )
            #expect(throws: EncryptionError.malformed(member: "nonce")) { try server.decryptRequest(request) }
        }
    }

    @Test func timestampsAtBothEndsAreFarApart() {
        for (timestamp, now) in [(Int64.min, Int64.max), (.max, .min), (.min, 1), (.min, 0)] {
            let request = Version4.EncryptedRequest(
                temporaryKeyID: "",
                encryptedData: [],
                nonce: [],
                timestamp: timestamp
            )
            #expect(!request.isFresh(at: now))
        }
    }

    @Test(arguments: [
        (0, true), (300_000, true), (-300_000, true), (300_001, false), (-300_001, false), (Int64.max, false),
        (Int64.min + 1, false),
    ])
    func freshness(distance: Int64, isFresh: Bool) {
        let request = Version4.EncryptedRequest(temporaryKeyID: "", encryptedData: [], nonce: [], timestamp: distance)
        #expect(request.isFresh(at: 0) == isFresh)
    }

    @Test func aWrongPasswordGivesAWrongKeyAndNoError() throws {
        var generator = SeededGenerator()
        let key = generator.secret(32)
        let protected = try Version4.ProtectedKnowledgeKey(
            protecting: key,
            password: SecretBytes(utf8: "right"),
            salt: generator.bytes(32),
            vector: generator.bytes(16)
        )
        #expect(try protected.key(password: SecretBytes(utf8: "right")) == key)
        #expect(try protected.key(password: SecretBytes(utf8: "wrong")) != key)
        #expect(throws: CryptoError(.invalidLength)) { try protected.key(password: SecretBytes(utf8: "abc")) }
        let short = Version4.ProtectedKnowledgeKey(salt: protected.salt, wrappedKey: protected.wrappedKey.dropLast())
        #expect(throws: CryptoError(.invalidLength)) { try short.key(password: SecretBytes(utf8: "right")) }
        let saltless = Version4.ProtectedKnowledgeKey(
            salt: [UInt8](protected.salt.dropLast()),
            wrappedKey: protected.wrappedKey
        )
        #expect(throws: CryptoError(.invalidLength)) { try saltless.key(password: SecretBytes(utf8: "right")) }
    }

    @Test func sealedDeviceKeysBelongToOneActivation() throws {
        for suite in AlgorithmSuite.available {
            var generator = SeededGenerator()
            let keys = try generator.signingKeys(suite)
            let (id, vaultKey) = (generator.uuid(), generator.secret(32))
            let sealed = try Version4.SealedDeviceKeys(
                sealing: keys,
                activationID: id,
                vaultKey: vaultKey,
                nonce: generator.bytes(12)
            )
            let opened = try sealed.open(suite: suite, activationID: id, vaultKey: vaultKey)
            #expect(opened.ecdsa.scalar == keys.ecdsa.scalar && opened.mldsa?.seed == keys.mldsa?.seed)
            #expect(opened.publicKeys == keys.publicKeys)
            let refusal = CryptoError(.authenticationFailed)
            for other in AlgorithmSuite.allCases where other != suite {
                #expect(throws: refusal) { try sealed.open(suite: other, activationID: id, vaultKey: vaultKey) }
            }
            #expect(throws: refusal) { try sealed.open(suite: suite, activationID: "other", vaultKey: vaultKey) }
            #expect(throws: refusal) { try sealed.open(suite: suite, activationID: id, vaultKey: generator.secret(32)) }
            for changed in sealed.bytes.withOneBitFlipped {
                #expect(throws: refusal, "\(generator)") {
                    try Version4.SealedDeviceKeys(bytes: changed)
                        .open(suite: suite, activationID: id, vaultKey: vaultKey)
                }
            }
        }
    }
}
