import Testing
import WireFacts

@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient

@Suite(.timeLimit(.minutes(5))) struct VaultAndFactorTests {
    private let key = SecretBytes(copying: Array(0..<16))

    @Test(arguments: ProtocolVersion.version3) func theVaultDerivesKeysAndSignsWithTheDeviceKey(
        version: ProtocolVersion
    ) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        let one = try await activation.deriveDataKey(index: 1, with: Fixture.twoFactors)
        let other = try await activation.deriveDataKey(index: 2, with: Fixture.twoFactors)
        let again = try await activation.deriveDataKey(index: 1, with: Fixture.twoFactors)
        #expect(one == again)
        #expect(one != other)
        let server = try #require(fixture.server.device(activation.activationID))
        #expect(one == (try Vault.dataKey(vaultKey: server.derived.vault, index: 1)))

        let signature = try await activation.signWithDeviceKey([1, 2, 3], with: Fixture.twoFactors)
        #expect(server.deviceKey.isValid(derSignature: signature, for: [1, 2, 3]))
        #expect(!server.deviceKey.isValid(derSignature: signature, for: [1, 2, 4]))
    }

    /// Servers leave the identifier out; one that sends it has to send the right one.
    @Test(
        .wireFact("3.2"),
        arguments: [
            (#"{"encryptedVaultEncryptionKey":"AQID"}"#, true),
            (#"{"activationId":null,"encryptedVaultEncryptionKey":"AQID"}"#, true),
            (#"{"activationId":"a","encryptedVaultEncryptionKey":"AQID"}"#, true),
            (#"{"activationId":"b","encryptedVaultEncryptionKey":"AQID"}"#, false),
            (#"{"activationId":"a"}"#, false),
            (#"{"encryptedVaultEncryptionKey":"?"}"#, false),
        ]
    )
    func theVaultsAnswerNeedsNoIdentifier(body: String, isGood: Bool) throws {
        let key = Result { try Version3Dialect.encryptedVaultKey(in: Array(body.utf8), for: "a", of: "/vault") }
        #expect((try? key.get()) == (isGood ? [1, 2, 3] : nil))
    }

    @Test func theVaultDoesNotOpenForPossessionAlone() async throws {
        let (fixture, activation) = try await Fixture().activated
        await expectError(.invalidAuthentication) {
            _ = try await activation.deriveDataKey(index: 1, with: .possession)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test func theLongestReasonOpensTheVault() async throws {
        let (fixture, activation) = try await Fixture().activated
        _ = try await activation.deriveDataKey(
            index: 1,
            with: Fixture.twoFactors,
            reason: Activation.VaultUnlockReason(rawValue: String(repeating: "a", count: 198))
        )
        #expect(fixture.server.requestCount("/vault/unlock") == 1)
    }

    /// ENDPOINTS 3.2: password, and biometry where the server is set up so. Only the server knows.
    @Test(.wireFact("3.2"), arguments: [false, true])
    func theServerDecidesWhetherBiometryOpensTheVault(isAllowed: Bool) async throws {
        let fixture = try Fixture()
        fixture.server.changeRules { $0.allowsVaultWithBiometry = isAllowed }
        let activation = try await fixture.activate()
        try await activation.addBiometryFactor(key: self.key, password: Fixture.secret)
        let opened = await errorCode {
            _ = try await activation.signWithDeviceKey([1], with: .possessionAndBiometry(key: self.key))
        }
        #expect((opened == nil) == isAllowed, "\(String(describing: opened))")
    }

    /// Servers answer it with `ERR_SECURE_VAULT`, for which another try would spend one more value.
    @Test(arguments: ["no", "a b c", "ä_reason", String(repeating: "a", count: 199), "a\0bc"])
    func aReasonThatNoServerTakesIsRefusedBeforeItIsSigned(reason: String) async throws {
        let (fixture, activation) = try await Fixture().activated
        let reason = Activation.VaultUnlockReason(rawValue: reason)
        await expectError(.invalidRequest) {
            _ = try await activation.deriveDataKey(index: 1, with: Fixture.twoFactors, reason: reason)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test func biometryIsAddedThroughTheVaultAndRemoved() async throws {
        let (fixture, activation) = try await Fixture().activated
        await expectError(.invalidAuthentication) {
            try await activation.approve("a", with: .possessionAndBiometry(key: self.key))
        }
        try await activation.addBiometryFactor(key: self.key, password: Fixture.secret)
        #expect(try await activation.hasBiometryFactor())
        try await activation.approve("a", with: .possessionAndBiometry(key: self.key))
        let wrong = SecretBytes(copying: Array(1...16))
        await expectError(.authenticationFailed) {
            try await activation.approve("b", with: .possessionAndBiometry(key: wrong))
        }
        try await activation.removeBiometryFactor()
        await expectError(.invalidAuthentication) {
            try await activation.approve("a", with: .possessionAndBiometry(key: self.key))
        }
        #expect(fixture.server.state.value.accepted == ["a"])
    }

    @Test func biometryMayBeSetUpWithTheActivation() async throws {
        let fixture = try Fixture()
        let activation = try await fixture.activate(biometryKey: self.key)
        try await activation.approve("a", with: .possessionAndBiometry(key: self.key))
    }

    @Test(arguments: [0, 15, 17, 32]) func aBiometryKeyOfAnotherLengthIsRefused(count: Int) async throws {
        let activation = try await Fixture().activate()
        let key = SecretBytes(copying: [UInt8](repeating: 1, count: count))
        await expectError(.invalidAuthentication) {
            try await activation.addBiometryFactor(key: key, password: Fixture.secret)
        }
    }

    @Test func theNewPasswordSignsAndTheOldOneDoesNot() async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        let before = try #require(try await store.record(of: activation.activationID))
        let requests = fixture.server.state.value.requests.count
        try await activation.changePasswordUnchecked(from: Fixture.secret, to: SecretBytes(utf8: "new-password"))
        #expect(fixture.server.state.value.requests.count == requests)
        let after = try #require(try await store.record(of: activation.activationID))
        #expect(after.version3?.knowledgeSalt != before.version3?.knowledgeSalt)
        try await activation.approve("a", with: .possessionAndKnowledge(password: "new-password"))
        await expectError(.authenticationFailed) {
            try await activation.approve("b", with: Fixture.twoFactors)
        }
    }

    @Test func aCheckedChangeWithAWrongPasswordChangesNothing() async throws {
        let activation = try await Fixture().activate()
        let wrong = SecretBytes(utf8: "wrong-password")
        await expectError(.authenticationFailed) {
            try await activation.changePassword(from: wrong, to: SecretBytes(utf8: "other"))
        }
        try await activation.approve("a", with: Fixture.twoFactors)
        try await activation.changePassword(from: Fixture.secret, to: SecretBytes(utf8: "other"))
        try await activation.approve("b", with: .possessionAndKnowledge(password: "other"))
    }

    @Test func anUnlockedFactorSignsAndSurvivesAChangeOfPassword() async throws {
        let (fixture, activation) = try await Fixture().activated
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        try await activation.approve("a", with: .possessionAndKnowledge(unlocked: factor))
        try await activation.changePasswordUnchecked(from: Fixture.secret, to: SecretBytes(utf8: "other"))
        try await activation.approve("b", with: .possessionAndKnowledge(unlocked: factor))
        #expect(fixture.server.state.value.accepted == ["a", "b"])
    }

    @Test func aFactorOfAnotherActivationIsRefused() async throws {
        let fixture = try Fixture()
        let one = try await fixture.activate()
        let other = try await fixture.activate()
        let factor = try await one.unlockKnowledge(password: Fixture.password)
        await expectError(.invalidAuthentication) {
            try await other.approve("a", with: .possessionAndKnowledge(unlocked: factor))
        }
    }

    /// Newer servers take no code of three factors, and older ones where an endpoint says so.
    @Test func allThreeFactorsSignTogether() async throws {
        let (fixture, activation) = try await Fixture(server: VerifyingServer(release: .v1_10)).activated
        try await activation.addBiometryFactor(key: self.key, password: Fixture.secret)
        var authentication = Fixture.twoFactors
        authentication.biometryKey = self.key
        try await activation.approve("a", with: authentication)
        #expect(fixture.server.state.value.accepted == ["a"])
    }

    @Test func offlineSignaturesMoveTheCounterAndVerify() async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        let nonce = SecureRandom.bytes(16)
        let data = Array("operation&data".utf8)
        for length in 4...8 {
            let signature = try await activation.offlineSignature(
                data: data,
                nonce: nonce,
                uriID: "/operation/authorize/offline",
                componentLength: length,
                with: Fixture.twoFactors
            )
            let server = try #require(fixture.server.device(activation.activationID))
            let verifier = SignatureVerifier(
                SignatureData(method: "POST", uriID: "/operation/authorize/offline", nonce: nonce, body: data),
                keys: [server.derived.possession, server.derived.knowledge],
                secret: .offline
            )
            let match = verifier.match(offline: signature, counter: server.counter, componentLength: length)
            #expect(match?.offset == length - 4)
        }
        #expect(try await store.record(of: activation.activationID)?.history.moves == 5)
        await expectError(.invalidAuthentication) {
            _ = try await activation.offlineSignature(data: data, nonce: nonce, uriID: "/x", with: .possession)
        }
        #expect(try await store.record(of: activation.activationID)?.history.moves == 5)
        try await activation.approve("online")
    }

    @Test(.wireFact("2.7"), arguments: ProtocolVersion.allCases)
    func anOfflineCodeIsAsLongAsConfigured(version: ProtocolVersion) async throws {
        let fixture = try Fixture(version: version) { $0.offlineCodeDigits = 5 }
        let activation = try await fixture.activate()
        func groups(_ password: String, digits: Int? = nil) async throws -> [Int] {
            let code = try await activation.offlineSignature(
                data: [1],
                nonce: SecureRandom.bytes(16),
                uriID: "/operation/authorize/offline",
                componentLength: digits,
                with: .possessionAndKnowledge(password: password)
            )
            return code.split(separator: "-").map(\.utf8.count)
        }
        #expect(try await groups(Fixture.password) == [5, 5])
        #expect(try await groups(Fixture.password, digits: 8) == [8, 8])
        // Nothing here can tell that a password is wrong.
        #expect(try await groups("wrong password") == [5, 5])
        let requests = fixture.server.state.value.requests.count
        for digits in [3, 9] {
            #expect(await errorCode { _ = try await groups(Fixture.password, digits: digits) } == .invalidRequest)
        }
        #expect(fixture.server.state.value.requests.count == requests)
    }

    @Test func dataSignedByTheServerIsToldFromOther() async throws {
        let (fixture, activation) = try await Fixture().activated
        let server = try #require(fixture.server.device(activation.activationID))
        let data: [UInt8] = [1, 2, 3]
        for (key, name) in [
            (server.serverKey, Activation.ServerSigningKey.activation), (fixture.server.masterKey, .master),
        ] {
            let der = try key.derSignature(for: data)
            let jose = try key.rawSignature(for: data)
            #expect(activation.isSignedByServer(data, signature: der, key: name))
            #expect(activation.isSignedByServer(data, signature: jose, key: name, format: .jose))
            #expect(!activation.isSignedByServer(data, signature: der, key: name, format: .jose))
            #expect(!activation.isSignedByServer(data, signature: jose, key: name))
            #expect(!activation.isSignedByServer([1, 2], signature: der, key: name))
            #expect(!activation.isSignedByServer(data, signature: der, key: name == .master ? .activation : .master))
            #expect(!activation.isSignedByServer(data, signature: [], key: name))
        }
    }
}
