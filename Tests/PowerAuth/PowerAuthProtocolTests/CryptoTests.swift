import MobileTokenTesting
import PowerAuthCrypto
import Testing

/// Published test values, limits and refusals that the protocol's vectors do not cover.
@Suite(.timeLimit(.minutes(5)))
struct CryptoTests {
    @Test(arguments: [
        // RFC 4231, cases 1, 2 and 6 (a key longer than a block).
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func hmac(key: [UInt8], message: String, expected: String) {
        let message = Array(message.utf8)
        let key = SecretBytes(copying: key)
        let tag = HMACSHA256.authenticate(message, key: key)
        #expect(tag.hexadecimal == expected)
        #expect(
            HMACSHA256.authenticate([[UInt8](message.prefix(3)), [], [UInt8](message.dropFirst(3))], key: key) == tag
        )
        #expect(HMACSHA256.derive(from: message, key: key) == SecretBytes(copying: tag))
        #expect(constantTimeEquals(HMACSHA256.authenticate(message, key: key), tag))
        for changed in tag.withOneBitFlipped { #expect(!constantTimeEquals(changed, tag)) }
        #expect(!constantTimeEquals([UInt8](tag.dropLast()), tag))
    }

    @Test func anEmptyKeyIsNotTheLastKey() {
        let first = HMACSHA256.authenticate([1], key: SecretBytes(copying: []))
        _ = HMACSHA256.authenticate([1], key: SecretBytes(copying: [7]))
        #expect(HMACSHA256.authenticate([1], key: SecretBytes(copying: [])) == first)
        #expect(first != HMACSHA256.authenticate([1], key: SecretBytes(copying: [7])))
    }

    @Test(arguments: [
        // RFC 6070.
        ("password", "salt", 1 as UInt32, 20, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        ("password", "salt", 4096, 20, "4b007901b765489abead49d926f721d065a429c1"),
        (
            "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25,
            "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"
        ),
    ])
    func pbkdf2(password: String, salt: String, iterations: UInt32, count: Int, expected: String) throws {
        let key = try PBKDF2.deriveKey(
            password: SecretBytes(utf8: password),
            salt: Array(salt.utf8),
            iterations: iterations,
            count: count
        )
        #expect(key.withUnsafeBytes { [UInt8]($0).hexadecimal } == expected)
    }

    @Test func sha256() {
        #expect(
            SHA256.hash(Array("abc".utf8)).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            SHA256.hash([]).hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
    }

    @Test func cbcRefusesWhatIsNotOfWholeBlocks() throws {
        let key = SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        let invalidLength = CryptoError(.invalidLength)
        for count in [1, 15, 17, 31] {
            let text = [UInt8](repeating: 0, count: count)
            #expect(throws: invalidLength) { try AES128CBC.encrypt(text, key: key, padding: .none) }
            #expect(throws: invalidLength) { try AES128CBC.decrypt(text, key: key, padding: .pkcs7) }
            #expect(throws: invalidLength) { try AES128CBC.decryptSecret(text, key: key, padding: .pkcs7) }
        }
        #expect(throws: invalidLength) { try AES128CBC.decrypt([], key: key, padding: .pkcs7) }
        let longKey = SecretBytes(copying: [UInt8](repeating: 1, count: 32))
        #expect(throws: invalidLength) { try AES128CBC.encrypt([], key: longKey, padding: .pkcs7) }
        #expect(throws: invalidLength) { try AES128CBC.encrypt([], key: key, iv: [1], padding: .pkcs7) }
    }

    @Test(arguments: 0...33) func cbcRoundTrip(count: Int) throws {
        var generator = SeededGenerator()
        let key = generator.secret(16)
        let iv = generator.bytes(16)
        let text = generator.bytes(count)
        let encrypted = try AES128CBC.encrypt(text, key: key, iv: iv, padding: .pkcs7)
        #expect(encrypted.count == (count / 16 + 1) * 16, "\(generator)")
        #expect(try AES128CBC.decrypt(encrypted, key: key, iv: iv, padding: .pkcs7) == text, "\(generator)")
        let secret = try AES128CBC.decryptSecret(encrypted, key: key, iv: iv, padding: .pkcs7)
        #expect(secret == SecretBytes(copying: text), "\(generator)")
    }

    @Test func paddingIsChecked() throws {
        let key = SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        for last in [0, 17, 255] as [UInt8] {
            let text = [UInt8](repeating: 0, count: 15) + [last]
            let encrypted = try AES128CBC.encrypt(text, key: key, padding: .none)
            #expect(throws: CryptoError(.invalidPadding)) {
                try AES128CBC.decrypt(encrypted, key: key, padding: .pkcs7)
            }
        }
    }

    @Test func gcmNoticesEveryChange() throws {
        let key = SecureRandom.secret(32)
        let nonce = SecureRandom.bytes(12)
        let text = SecretBytes(utf8: "sixteen bytes ok")
        let data = Array("who it belongs to".utf8)
        let sealed = try AES256GCM.seal(text, key: key, nonce: nonce, associatedData: data)
        #expect(sealed.count == text.count + AES256GCM.tagByteCount)
        #expect(try AES256GCM.open(sealed, key: key, nonce: nonce, associatedData: data) == text)
        let refused = CryptoError(.authenticationFailed)
        for changed in sealed.withOneBitFlipped {
            #expect(throws: refused) { try AES256GCM.open(changed, key: key, nonce: nonce, associatedData: data) }
        }
        for changed in data.withOneBitFlipped {
            #expect(throws: refused) { try AES256GCM.open(sealed, key: key, nonce: nonce, associatedData: changed) }
        }
        for changed in nonce.withOneBitFlipped {
            #expect(throws: refused) { try AES256GCM.open(sealed, key: key, nonce: changed, associatedData: data) }
        }
        #expect(throws: CryptoError(.invalidLength)) { try AES256GCM.open([1, 2], key: key, nonce: nonce) }
        #expect(throws: CryptoError(.invalidLength)) { try AES256GCM.seal(text, key: key, nonce: [1]) }
        let empty = try AES256GCM.seal(SecretBytes(utf8: ""), key: key, nonce: nonce)
        #expect(try AES256GCM.open(empty, key: key, nonce: nonce).count == 0)
    }

    @Test(arguments: [
        // zero, the order of the curve, one more, all ones; 31 and 33 bytes
        [UInt8](repeating: 0, count: 32), Self.order, Self.order.dropLast() + [Self.order[31] + 1],
        [UInt8](repeating: 0xFF, count: 32), [UInt8](repeating: 1, count: 31), [UInt8](repeating: 1, count: 33), [],
    ])
    func scalarsOutsideTheGroupAreRefused(scalar: [UInt8]) {
        #expect(throws: CryptoError(.invalidPrivateKey)) { try P256PrivateKey(scalar: SecretBytes(copying: scalar)) }
    }

    @Test func generatedKeysAreUsable() throws {
        let (one, other) = (P256PrivateKey.generate(), P256PrivateKey.generate())
        #expect(one.scalar != other.scalar)
        #expect(try P256PrivateKey(scalar: one.scalar).publicKey == one.publicKey)
        #expect(try one.sharedSecret(with: other.publicKey) == other.sharedSecret(with: one.publicKey))
        let signature = try one.derSignature(for: [1, 2, 3])
        #expect(one.publicKey.isValid(derSignature: signature, for: [1, 2, 3]))
        #expect(!other.publicKey.isValid(derSignature: signature, for: [1, 2, 3]))
        #expect("\(one)" == "P-256 private key")
    }

    @Test func changedSignaturesAreRefused() throws {
        let key = P256PrivateKey.generate()
        let message = Array("approve".utf8)
        let der = try key.derSignature(for: message)
        let raw = try key.rawSignature(for: message)
        #expect(raw.count == 64)
        for changed in der.withOneBitFlipped {
            #expect(!key.publicKey.isValid(derSignature: changed, for: message))
        }
        for changed in raw.withOneBitFlipped {
            #expect(!key.publicKey.isValid(rawSignature: changed, for: message))
        }
        for count in [0, 63, 65] {
            #expect(!key.publicKey.isValid(rawSignature: [UInt8](repeating: 1, count: count), for: message))
        }
    }

    @Test func derIsReadToTheLetter() throws {
        var generator = SeededGenerator()
        for _ in 0..<200 {
            // Short numbers and set top bits, which the encoding treats specially.
            var raw = generator.bytes(64)
            for index in 0..<Int.random(in: 0...31, using: &generator) { raw[index] = 0 }
            for index in 32..<(32 + Int.random(in: 0...31, using: &generator)) { raw[index] = 0 }
            let der = try ECDSASignature.der(fromRaw: raw)
            #expect(try ECDSASignature.raw(fromDER: der) == raw, "\(generator)")
            #expect(throws: CryptoError(.invalidSignatureEncoding)) { try ECDSASignature.raw(fromDER: der + [0]) }
            for count in 0..<der.count {
                let part = [UInt8](der.prefix(count))
                #expect(throws: CryptoError(.invalidSignatureEncoding)) { try ECDSASignature.raw(fromDER: part) }
            }
        }
    }

    @Test func randomBytesDoNotRepeat() {
        let nonces = (0..<1000).map { _ in SecureRandom.bytes(16) }
        #expect(Set(nonces).count == nonces.count)
        #expect(SecureRandom.bytes(2000).count == 2000)
        #expect(Set(SecureRandom.bytes(2000)).count > 200, "more than a pool holds, and not all zeros")
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(SecureRandom.secret(16) != SecureRandom.secret(16))
    }

    /// Each thread has contexts of its own: what one computes must not show in another.
    @Test func threadsDoNotDisturbEachOther() async {
        let expected = HMACSHA256.authenticate([9], key: SecretBytes(utf8: "key"))
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<32 {
                group.addTask {
                    (0..<200).allSatisfy { _ in
                        _ = HMACSHA256.authenticate([UInt8(task)], key: SecretBytes(copying: [UInt8(task)]))
                        return HMACSHA256.authenticate([9], key: SecretBytes(utf8: "key")) == expected
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test(arguments: ["", "localhost", "127.0.0.1,DNS:example.com", "256.0.0.1", "::g"])
    func aCertificateForWhatIsNoAddressIsRefused(address: String) {
        #expect(throws: CryptoError(.invalidHost)) {
            try SelfSignedCertificate(
                for: .generate(),
                name: "test",
                hostNames: [],
                addresses: [address],
                validity: 0...1
            )
        }
    }

    @Test(arguments: ["", "example.com,DNS:example.org", "a b", "IP:127.0.0.1", "\u{0}"])
    func aCertificateForWhatIsNoNameIsRefused(name: String) {
        #expect(throws: CryptoError(.invalidHost)) {
            try SelfSignedCertificate(for: .generate(), name: "test", hostNames: [name], addresses: [], validity: 0...1)
        }
    }

    @Test func aCertificateBelongsToItsKey() throws {
        func certificate(of key: P256PrivateKey) throws -> SelfSignedCertificate {
            try SelfSignedCertificate(for: key, name: "test", hostNames: ["localhost"], addresses: [], validity: 0...1)
        }
        let key = P256PrivateKey.generate()
        let (one, two) = (try certificate(of: key), try certificate(of: key))
        #expect(one.publicKeyPin == two.publicKeyPin)
        #expect(one.privateKeyPEM == two.privateKeyPEM)
        #expect(one.pem != two.pem)  // a serial number and a signature each
        #expect(try certificate(of: .generate()).publicKeyPin != one.publicKeyPin)
        #expect(one.pem.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
        let privateKey = one.privateKeyPEM.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        #expect(privateKey.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(!"\(one)".contains("PRIVATE KEY"))
    }

    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
}

extension [UInt8] {
    var hexadecimal: String {
        self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
