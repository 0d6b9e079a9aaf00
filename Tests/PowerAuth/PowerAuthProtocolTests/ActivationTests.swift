import MobileTokenTesting
import PowerAuthCrypto
import Testing

/// Codes, the vault and the password.
@Suite(.timeLimit(.minutes(5)))
struct ActivationTests {
    @Test func codesOfRandomBytesAreValid() throws {
        var generator = SeededGenerator()
        for _ in 0..<200 {
            let code = try ActivationCode(randomBytes: generator.bytes(10))
            #expect(ActivationCode.isValid(code.code), "\(generator)")
            #expect(try ActivationCode(parsing: code.qrCodeContent) == code)
        }
        #expect(throws: CryptoError(.invalidLength)) { try ActivationCode(randomBytes: generator.bytes(9)) }
    }

    /// The checksum finds every single character that was mistyped.
    @Test func anyOtherCharacterIsNoticed() throws {
        var generator = SeededGenerator()
        let code = Array(try ActivationCode(randomBytes: generator.bytes(10)).code.utf8)
        for index in code.indices {
            for character in 0...255 as ClosedRange<UInt8> where character != code[index] {
                var changed = code
                changed[index] = character
                let text = String(decoding: changed, as: UTF8.self)
                #expect(!ActivationCode.isValid(text), "\(generator)")
            }
        }
    }

    @Test func aSignedCodeVerifiesWithItsMasterKeyOnly() throws {
        var generator = SeededGenerator()
        let masterKey = try generator.privateKey()
        let code = try ActivationCode(randomBytes: generator.bytes(10), signedBy: masterKey)
        let received = try ActivationCode(parsing: code.qrCodeContent)
        #expect(received == code)
        #expect(received.isSigned(by: masterKey.publicKey))
        #expect(!received.isSigned(by: try generator.privateKey().publicKey))
        #expect(!(try ActivationCode(parsing: code.code)).isSigned(by: masterKey.publicKey), "nothing to verify")
        for changed in Array(code.qrCodeContent.utf8).withOneBitFlipped {
            let text = String(decoding: changed, as: UTF8.self)
            guard let code = try? ActivationCode(parsing: text) else { continue }
            #expect(!code.isSigned(by: masterKey.publicKey), "\(generator)")
        }
        #expect("\(code)" == "<activation code>")
    }

    @Test(arguments: ["#", "#A", "#AA", "##", "#AA==#"])
    func aBadSignatureIsNamed(suffix: String) throws {
        let code = try ActivationCode(randomBytes: [UInt8](repeating: 7, count: 10)).code
        #expect(throws: ActivationCode.ParsingError.invalidSignature) { try ActivationCode(parsing: code + suffix) }
        #expect(throws: ActivationCode.ParsingError.invalidCode) { try ActivationCode(parsing: suffix) }
    }

    @Test func aWrongPasswordGivesAnotherKeyAndNoError() throws {
        var generator = SeededGenerator()
        let key = generator.secret(16)
        let salt = generator.bytes(16)
        let password = SecretBytes(utf8: "čtyři")
        let protected = try KnowledgeKeyProtection.protect(key, password: password, salt: salt)
        #expect(protected != key)
        #expect(try KnowledgeKeyProtection.unprotect(protected, password: password, salt: salt) == key, "\(generator)")
        let wrong = SecretBytes(utf8: "čtyři ")
        #expect(try KnowledgeKeyProtection.unprotect(protected, password: wrong, salt: salt) != key, "\(generator)")
        let otherSalt = generator.bytes(16)
        #expect(try KnowledgeKeyProtection.unprotect(protected, password: password, salt: otherSalt) != key)
    }

    @Test func whatCannotBeProtectedIsNamed() throws {
        let (key, salt) = (SecureRandom.secret(16), SecureRandom.bytes(16))
        let password = SecretBytes(utf8: "1234")
        for short in ["", "123", "é1"] {
            #expect(throws: KnowledgeKeyProtection.Failure.passwordTooShort) {
                try KnowledgeKeyProtection.protect(key, password: SecretBytes(utf8: short), salt: salt)
            }
        }
        #expect(throws: KnowledgeKeyProtection.Failure.invalidLength) {
            try KnowledgeKeyProtection.protect(key, password: password, salt: [])
        }
        #expect(throws: KnowledgeKeyProtection.Failure.invalidLength) {
            try KnowledgeKeyProtection.protect(SecureRandom.secret(17), password: password, salt: salt)
        }
        #expect(throws: KnowledgeKeyProtection.Failure.invalidLength) {
            try KnowledgeKeyProtection.unprotect(SecureRandom.secret(15), password: password, salt: salt)
        }
    }

    @Test func theVaultRefusesWhatIsNoKey() throws {
        let vaultKey = SecureRandom.secret(16)
        let numbers: [[UInt8]] = [
            [], [0], [UInt8](repeating: 0xFF, count: 32), [UInt8](repeating: 1, count: 33),
            [0, 1] + [UInt8](repeating: 1, count: 32),
        ]
        for number in numbers {
            let encrypted = try AES128CBC.encrypt(number, key: vaultKey, padding: .pkcs7)
            #expect(throws: Vault.Unreadable()) { try Vault.decryptDevicePrivateKey(encrypted, vaultKey: vaultKey) }
        }
        for count in [0, 8, 15, 17, 32] {
            let encrypted = try AES128CBC.encrypt([UInt8](repeating: 1, count: count), key: vaultKey, padding: .pkcs7)
            #expect(throws: Vault.Unreadable()) { try Vault.decryptVaultKey(encrypted, transportKey: vaultKey) }
        }
        #expect(throws: Vault.Unreadable()) { try Vault.decryptVaultKey([1, 2, 3], transportKey: vaultKey) }
    }

    @Test func keysOfTheVaultDifferByIndex() throws {
        let vaultKey = SecureRandom.secret(16)
        let first = try Vault.dataKey(vaultKey: vaultKey, index: 1)
        #expect(first == (try KeyDerivation.derive(vaultKey, index: 1)))
        #expect(first != (try Vault.dataKey(vaultKey: vaultKey, index: 2)))
    }
}
