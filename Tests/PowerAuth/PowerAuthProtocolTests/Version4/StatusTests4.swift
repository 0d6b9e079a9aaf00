import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StatusTests4 {
    private func blob(_ counter: Version4.HashCounter, key: SecretBytes) throws -> ActivationStatusBlob {
        ActivationStatusBlob(
            state: .active,
            currentVersion: Version4.major,
            flags: [.biometryIsOn],
            counterByte: counter.byte,
            failedAttempts: 1,
            maxFailedAttempts: 5,
            lookAhead: 20,
            counterHash: try counter.hash(key: key)
        )
    }

    @Test func anyBitFlippedIsRefused() throws {
        var generator = SeededGenerator()
        let keys = try generator.version4Keys().utility
        let blob = try self.blob(Version4.HashCounter(data: generator.secret(32)), key: keys.counterHash)
        let bytes = try blob.bytes(key: keys.status)
        #expect(try ActivationStatusBlob(bytes, key: keys.status) == blob)
        for changed in bytes.withOneBitFlipped {
            #expect(throws: ActivationStatusError.authenticationFailed, "\(generator)") {
                try ActivationStatusBlob(changed, key: keys.status)
            }
        }
        for bytes in [[], [UInt8](bytes.dropLast()), bytes + [0]] {
            #expect(throws: ActivationStatusError.invalidLength) {
                try ActivationStatusBlob(bytes, key: keys.status)
            }
        }
    }

    /// Tells both counters apart in every distance that one byte can tell, with both halves of the rule.
    @Test func distances() throws {
        var generator = SeededGenerator()
        let keys = try generator.version4Keys().utility
        let start = Version4.HashCounter(data: generator.secret(32), byte: generator.bytes(1)[0])
        for ahead in -30...30 {
            let client = start.advanced(by: max(0, ahead))
            let server = start.advanced(by: max(0, -ahead))
            let result = try CounterSynchronization(
                client: client,
                status: self.blob(server, key: keys.counterHash),
                key: keys.counterHash
            )
            let expected: CounterSynchronization<Version4.HashCounter>.Outcome =
                switch ahead {
                case ..<(-19): .deadlock
                case ..<0: .movedForward(-ahead, server)
                case ...10: .inSync
                case ...20: .signatureRecommended
                default: .deadlock
                }
            #expect(result.outcome == expected, "\(ahead), \(generator)")
            #expect(result.distance == ahead)
        }
    }

    @Test func aHashThatContradictsTheByteIsADeadlock() throws {
        var generator = SeededGenerator()
        let keys = try generator.version4Keys().utility
        let client = Version4.HashCounter(data: generator.secret(32), byte: 9)
        for (steps, byte) in [(0, 8), (0, 10), (3, 11), (3, 13), (3, 9)] {
            var status = try self.blob(client.advanced(by: steps), key: keys.counterHash)
            status.counterByte = UInt8(byte)
            let result = try CounterSynchronization(client: client, status: status, key: keys.counterHash)
            #expect(result.outcome == .deadlock)
        }
    }

    @Test func anyBitFlippedInAnOfflineCodeIsRefused() throws {
        var generator = SeededGenerator()
        let key = generator.secret(32)
        let data = Array("id\nTitle\nMessage\nA1*A100CZK\nB\n\(Base64.encode(generator.bytes(16)))\n2".utf8)
        let tag = try Version4.OfflineQRMAC.tag(of: data, key: key)
        let code = String(decoding: data, as: UTF8.self) + Base64.encode(tag)
        #expect(Version4.OfflineQRMAC.isValid(code: code, key: key))
        #expect(Version4.OfflineQRMAC.isValid(tag, for: data, key: key))
        #expect(!Version4.OfflineQRMAC.isValid(tag, for: data + [0x31], key: key))
        for changed in Array(code.utf8).withOneBitFlipped {
            let text = String(decoding: changed, as: UTF8.self)
            #expect(!Version4.OfflineQRMAC.isValid(code: text, key: key), "\(generator)")
        }
        for text in ["", "\n", "2", "\n2", "a\n2AA==", code + "\n"] {
            #expect(!Version4.OfflineQRMAC.isValid(code: text, key: key))
        }
    }

    @Test func configurationsWithSeveralKeys() throws {
        var generator = SeededGenerator()
        let p256 = try generator.privateKey().publicKey
        let p384 = try generator.p384PrivateKey().publicKey
        let secret = try generator.applicationSecret()
        let applicationKey = Base64.encode(generator.bytes(16))
        let text = { (keys: [(UInt8, [UInt8])]) in
            SDKConfigurationContents(
                applicationKey: applicationKey,
                applicationSecret: secret,
                keys: [(1, p256.compressed)] + keys.map { (kind: $0, bytes: $1) }
            ).string
        }
        for point in [p384.compressed, p384.uncompressed] {
            let configuration = try SDKConfiguration(parsing: text([(2, point)]))
            #expect(configuration.suites == [.p384])
            #expect(configuration.version4MasterPublicKeys?.ecdsa == p384)
            #expect(try SDKConfiguration(parsing: configuration.string) == configuration)
        }
        #expect(try SDKConfiguration(parsing: text([])).suites.isEmpty)
        let offCurve = [0x04] + [UInt8](repeating: 1, count: 96)
        let wrongInfo = [UInt8](repeating: 0, count: 1974)
        let refused: [[(UInt8, [UInt8])]] = [
            [(2, offCurve)], [(2, p256.compressed)], [(2, p384.compressed), (2, p384.compressed)],
            [(2, p384.compressed), (3, wrongInfo)], [(3, wrongInfo)], [(2, p384.compressed), (4, [])],
        ]
        for keys in refused {
            #expect(throws: SDKConfigurationError.invalidMasterPublicKey) { try SDKConfiguration(parsing: text(keys)) }
        }
    }

    @Test func activationCodesOfBothVersions() throws {
        var generator = SeededGenerator()
        let (old, new) = (try generator.privateKey(), try generator.p384PrivateKey())
        let code = try ActivationCode(randomBytes: generator.bytes(10), signedBy: new)
        #expect(try ActivationCode(parsing: code.qrCodeContent) == code)
        #expect(code.isSigned(by: new.publicKey))
        #expect(!code.isSigned(by: old.publicKey))
        #expect(!code.isSigned(by: try generator.p384PrivateKey().publicKey))
    }

    @Test(arguments: [
        (#"{"keyIdentifier":"KEK_DEVICE_PRIVATE","reason":"SIGN_WITH_DEVICE_PRIVATE_KEY"}"#, true),
        (#"{"keyIdentifier":"KDK_APP_VAULT_2FA","reason":"a.b"}"#, true),
        (#"{"keyIdentifier":"KDK_APP_VAULT_2FA","reason":"ab"}"#, false),
        (#"{"keyIdentifier":"KDK_APP_VAULT_2FA","reason":"a b"}"#, false),
        (#"{"keyIdentifier":"KDK_APP_VAULT_2FA","reason":"äbc"}"#, false),
        (#"{"keyIdentifier":"KDK_APP_VAULT_2FA"}"#, false),
        (#"{"keyIdentifier":"kdk_app_vault_2fa","reason":"abc"}"#, false),
        (#"{"reason":"abc"}"#, false),
    ])
    func vaultRequests(text: String, isValid: Bool) {
        let request = try? decodeJSON(Version4.VaultRequest.self, text)
        #expect((request != nil) == isValid)
    }

    @Test func secretsInMessagesHaveTheirLength() throws {
        var generator = SeededGenerator()
        for count in [0, 16, 31, 33] {
            let text = Base64.encode(generator.bytes(count))
            #expect(throws: (any Error).self) {
                try decodeJSON(Version4.VaultResponse.self, #"{"vaultEncryptionKey":"\#(text)"}"#)
            }
            #expect(throws: (any Error).self) {
                try decodeJSON(Version4.TokenResponse.self, #"{"tokenId":"id","tokenSecret":"\#(text)"}"#)
            }
        }
        let token = Version4.TokenResponse(tokenID: "id", tokenSecret: generator.secret(32))
        #expect(try decodeJSON(Version4.TokenResponse.self, encodeJSON(token)) == token)
        let vault = Version4.VaultResponse(vaultEncryptionKey: generator.secret(32))
        #expect(try decodeJSON(Version4.VaultResponse.self, encodeJSON(vault)) == vault)
        let status = Version4.ActivationStatusResponse(
            activationStatus: [1],
            customObject: nil,
            timestampBlockExpire: nil
        )
        #expect(String(decoding: try encodeJSON(status), as: UTF8.self).contains(#""timestampBlockExpire":null"#))
        #expect(try decodeJSON(Version4.ActivationStatusResponse.self, encodeJSON(status)).activationStatus == [1])
    }
}
