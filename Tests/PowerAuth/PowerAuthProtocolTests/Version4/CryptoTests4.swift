import MobileTokenTesting
import PowerAuthCrypto
import Testing

/// Published test values, limits and refusals of the algorithms that only version 4 uses.
@Suite(.timeLimit(.minutes(5)))
struct CryptoTests4 {
    @Test func hashes() {
        let message = Array("abc".utf8)
        #expect(
            SHA3.hash(message).hexadecimal == "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
        )
        #expect(
            SHA384.hash(message).hexadecimal
                == "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        )
        // RFC 4231, case 2.
        let tag = HMACSHA384.authenticate(Array("what do ya want for nothing?".utf8), key: SecretBytes(utf8: "Jefe"))
        #expect(
            tag.hexadecimal
                == "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
        )
    }

    /// SP 800-185, KMAC sample 4.
    @Test func kmac() throws {
        let key = SecretBytes(copying: [UInt8](0x40...0x5F))
        let tag = { (customization: String, count: Int) in
            try KMAC256.authenticate([0, 1, 2, 3], key: key, customization: customization, count: count)
        }
        let sample = try tag("My Tagged Application", 64)
        #expect(
            sample.hexadecimal
                == "20c570c31346f703c9ac36c61c03cb64c3970d0cfc787e9b79599d273a68d2f7"
                + "f69d4cc3de9d104a351689f27cf6f5951f0103f33f4f24871024d9c27773a8dd"
        )
        let derived = try KMAC256.derive(
            from: [0, 1, 2, 3],
            key: key,
            customization: "My Tagged Application",
            count: 64
        )
        #expect(derived == SecretBytes(copying: sample))
        #expect(try tag("My Tagged Application", 32) != [UInt8](sample.prefix(32)))
        // A context that was used for one purpose does not remember it.
        let plain = try tag("", 32)
        _ = try tag("My Tagged Application", 64)
        #expect(try tag("", 32) == plain)
    }

    @Test func kmacRefusesKeysThatAreNone() throws {
        for count in [0, 3, 513] {
            let key = SecretBytes(copying: [UInt8](repeating: 1, count: count))
            #expect(throws: CryptoError(.invalidLength)) {
                try KMAC256.authenticate([1], key: key, customization: "x")
            }
            #expect(throws: CryptoError(.invalidLength)) {
                try KMAC256.derive(from: [1], key: key, customization: "x")
            }
        }
        let key = SecretBytes(copying: [1, 2, 3, 4])
        for count in [0, -1] {
            #expect(throws: CryptoError(.invalidLength)) {
                try KMAC256.authenticate([1], key: key, customization: "x", count: count)
            }
            #expect(throws: CryptoError(.invalidLength)) {
                try KMAC256.derive(from: [1], key: key, customization: "x", count: count)
            }
        }
    }

    /// SP 800-38A, F.5.5.
    @Test func counterMode() throws {
        let hex = { (text: String) in try Required.value([UInt8](hexadecimal: text)) }
        let key = SecretBytes(copying: try hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
        let block = [UInt8](0xF0...0xFF)
        let plaintext = try hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
        let ciphertext = try AES256CTR.apply(to: plaintext, key: key, block: block)
        #expect(ciphertext.hexadecimal == "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5")
        #expect(try AES256CTR.apply(to: ciphertext, key: key, block: block) == plaintext)
        #expect(try AES256CTR.apply(to: [], key: key, block: block).isEmpty)
        #expect(throws: CryptoError(.invalidLength)) { try AES256CTR.apply(to: [1], key: key, block: [1]) }
        #expect(throws: CryptoError(.invalidLength)) {
            try AES256CTR.apply(to: [1], key: SecretBytes(copying: [UInt8](repeating: 0, count: 16)), block: block)
        }
    }

    @Test func anyBitOfAPointCounts() throws {
        var generator = SeededGenerator()
        let key = try generator.p384PrivateKey().publicKey
        #expect(try P384PublicKey(x963: key.uncompressed) == key)
        #expect(try P384PublicKey(x963: key.compressed) == key)
        for changed in key.uncompressed.withOneBitFlipped {
            #expect(throws: CryptoError(.invalidPublicKey), "\(generator)") { try P384PublicKey(x963: changed) }
        }
        let hybrid = [0x06 | (key.uncompressed[96] & 1)] + key.uncompressed.dropFirst()
        let p256 = P256PrivateKey.generate().publicKey
        let others: [[UInt8]] = [
            [], [0], hybrid, key.uncompressed + [0], key.uncompressed.dropLast(), key.compressed.dropLast(),
            p256.uncompressed, p256.compressed, [0x04] + [UInt8](repeating: 0, count: 96),
        ]
        for bytes in others {
            #expect(throws: CryptoError(.invalidPublicKey), "\(generator)") { try P384PublicKey(x963: bytes) }
        }
        #expect(throws: CryptoError(.invalidPublicKey)) { try P256PublicKey(x963: key.uncompressed) }
    }

    @Test func aScalarLiesBetweenZeroAndTheOrder() throws {
        let order = try Required.value(
            [UInt8](
                hexadecimal:
                    "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
            )
        )
        let last = order.dropLast() + [order[47] - 1]
        #expect(try P384PrivateKey(scalar: SecretBytes(copying: last)).scalar == SecretBytes(copying: last))
        let zero = [UInt8](repeating: 0, count: 48)
        for scalar in [order, zero, [], [UInt8](last.dropFirst()), [0] + last, [UInt8](repeating: 0xFF, count: 48)] {
            #expect(throws: CryptoError(.invalidPrivateKey)) {
                try P384PrivateKey(scalar: SecretBytes(copying: scalar))
            }
        }
    }

    @Test func anyBitOfASignatureCounts() throws {
        var generator = SeededGenerator()
        let key = try generator.p384PrivateKey()
        let message = generator.bytes(20)
        let raw = try key.rawSignature(for: message)
        let der = try ECDSASignature.der(fromRaw: raw, curve: .p384)
        #expect(key.publicKey.isValid(rawSignature: raw, for: message))
        #expect(key.publicKey.isValid(derSignature: der, for: message))
        for _ in 0..<40 {
            let flipped = try generator.element(of: Array(raw.withOneBitFlipped))
            #expect(!key.publicKey.isValid(rawSignature: flipped, for: message), "\(generator)")
            let flippedDER = try generator.element(of: Array(der.withOneBitFlipped))
            #expect(!key.publicKey.isValid(derSignature: flippedDER, for: message), "\(generator)")
        }
        for bytes in [[], raw, der + [0], der.dropLast()] as [[UInt8]] {
            #expect(!key.publicKey.isValid(derSignature: bytes, for: message))
        }
        for bytes in [[], der, raw + [0], raw.dropLast()] as [[UInt8]] {
            #expect(!key.publicKey.isValid(rawSignature: bytes, for: message))
        }
    }

    @Test func whatIsMissingIsNamed() {
        for suite in AlgorithmSuite.hybrid where !suite.isAvailable {
            #expect(throws: SuiteUnavailableError(suite: suite)) { try suite.requireAvailability() }
            let text = "\(SuiteUnavailableError(suite: suite))"
            #expect(
                text.contains(suite.rawValue) && text.contains("OpenSSL 3.5") && text.contains(CryptoLibrary.version)
            )
            let unavailable = Version4.SharedSecretError.unavailable(SuiteUnavailableError(suite: suite))
            #expect(throws: unavailable) { try Version4.SigningPrivateKeys(suite: suite) }
            #expect(throws: unavailable) { _ = try Version4.SharedSecretAgreement(suite: suite) }
        }
        #expect(AlgorithmSuite.p384.isAvailable)
        #expect(AlgorithmSuite.available.first == .p384)
        #expect(CryptoLibrary.version.hasPrefix("OpenSSL 3") || CryptoLibrary.version.hasPrefix("OpenSSL 4"))
    }

    @Test(.postQuantum, arguments: MLKEM.allCases)
    func keyEncapsulation(parameters: MLKEM) throws {
        var generator = SeededGenerator()
        let key = try MLKEMPrivateKey(seed: generator.secret(64), parameters: parameters)
        let made = try key.publicKey.encapsulate()
        #expect(try key.decapsulate(made.ciphertext) == made.secret)
        for flipped in made.ciphertext.withOneBitFlipped {
            #expect(try key.decapsulate(flipped) != made.secret, "\(generator)")
        }
        for bytes in [[], made.ciphertext.dropLast(), made.ciphertext + [0]] as [[UInt8]] {
            #expect(throws: CryptoError(.invalidLength)) { try key.decapsulate(bytes) }
        }
        for count in [0, 32, 63, 65] {
            #expect(throws: CryptoError(.invalidPrivateKey)) {
                try MLKEMPrivateKey(seed: generator.secret(count), parameters: parameters)
            }
        }
        // The prefix names the algorithm, and every bit of it matters.
        for flipped in [UInt8](key.publicKey.publicKeyInfo.prefix(22)).withOneBitFlipped {
            let info = flipped + key.publicKey.publicKeyInfo.dropFirst(22)
            #expect(throws: CryptoError(.invalidPublicKey)) {
                try MLKEMPublicKey(publicKeyInfo: info, parameters: parameters)
            }
        }
    }

    @Test(.postQuantum, arguments: MLDSA.allCases)
    func postQuantumSignatures(parameters: MLDSA) throws {
        var generator = SeededGenerator()
        let key = try MLDSAPrivateKey(seed: generator.secret(32), parameters: parameters)
        let message = generator.bytes(20)
        let signature = try key.signature(for: message)
        #expect(key.publicKey.isValid(signature, for: message))
        for flipped in generator.oneBitFlipped(in: signature) {
            #expect(!key.publicKey.isValid(flipped, for: message))
        }
        for flipped in message.withOneBitFlipped { #expect(!key.publicKey.isValid(signature, for: flipped)) }
        for bytes in [[], signature.dropLast(), signature + [0]] as [[UInt8]] {
            #expect(!key.publicKey.isValid(bytes, for: message))
        }
        #expect(throws: CryptoError(.invalidPrivateKey)) {
            try MLDSAPrivateKey(seed: generator.secret(33), parameters: parameters)
        }
    }
}

extension [UInt8] {
    init?(hexadecimal text: String) {
        let digits = Array(text.utf8).map { $0 > 0x39 ? $0 - 0x57 : $0 - 0x30 }
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
