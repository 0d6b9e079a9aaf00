@testable import EmulatorBackend
import ExactJSON
import HTTPClientTransport
import StoreTesting
import Synchronization
import Testing
import WireFacts
import TestSupport
import WireFacts

import PowerAuth
@testable import PowerAuthClient

@Suite(.timeLimit(.minutes(5))) struct Version4ActivationTests {
    private let unlockKey = SecretBytes(copying: Array(0..<16))

    @Test(arguments: AlgorithmSuite.available) func everySuiteActivatesSignsAndPolls(suite: AlgorithmSuite) async throws
    {
        let (fixture, activation) = try await Fixture(suite: suite, version: .v4_0).activated
        #expect(activation.version == .v4_0)
        #expect(activation.name == "bot")
        try await activation.approve("a", with: Fixture.twoFactors)
        try await activation.approve("b")
        try await activation.poll()
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect(status.flags == [])
        #expect(!status.isUpgradeOffered)
        #expect(status.counter.result == .inSync)
        #expect(status.counter.distance == 0)
        #expect(fixture.server.state.withLock { $0.accepted } == ["a", "b"])
        #expect(try await activation.userInfo()["sub"]?.string == "alice")
        let keys = try fixture.server.keys4(activation.activationID)
        #expect(keys.suite == suite)
        #expect(activation.fingerprint == keys.fingerprint(activationID: activation.activationID))
        #expect(fixture.server.requestCount("/keystore/create") == 2)
    }

    @Test(arguments: AlgorithmSuite.allCases.filter { !$0.isAvailable })
    func aSuiteThatThisMachineLacksIsRefusedAtOnce(suite: AlgorithmSuite) async throws {
        let server = try VerifyingServer()
        let full = try #require(server.configuration.version4MasterPublicKeys)
        // Keys that are well formed are enough to configure the suite; nothing is computed with them.
        let scheme = try #require(suite.signatureScheme)
        let prefix: [UInt8] =
            scheme == .mlDSA65
            ? [0x30, 0x82, 0x07, 0xB2, 0x30, 0x0B, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12]
                + [0x03, 0x82, 0x07, 0xA1, 0x00]
            : [0x30, 0x82, 0x0A, 0x32, 0x30, 0x0B, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x13]
                + [0x03, 0x82, 0x0A, 0x21, 0x00]
        let key = prefix + [UInt8](repeating: 1, count: scheme == .mlDSA65 ? 1952 : 2592)
        var configuration = MobileTokenClient.Configuration()
        configuration.version = .v4_0
        configuration.suite = suite
        configuration.store = ActivationStore.inMemory()
        configuration.transport = server
        let error = #expect(throws: MobileTokenError.self) {
            try MobileTokenClient(
                baseURL: VerifyingServer.baseURL,
                sdkConfiguration: SDKConfiguration(
                    applicationKey: server.configuration.applicationKey,
                    applicationSecret: server.configuration.applicationSecret,
                    masterPublicKey: server.configuration.masterPublicKey,
                    version4MasterPublicKeys: Version4.MasterPublicKeys(ecdsa: full.ecdsa, mldsa: [scheme: key])
                ),
                configuration: configuration
            )
        }
        #expect(error?.code == .suiteUnavailable)
        #expect(error?.message.contains(CryptoLibrary.version) == true)
        #expect(error?.message.contains("OpenSSL 3.5") == true)
    }

    @Test func aConfigurationWithoutKeysOfTheSuiteIsRefused() throws {
        let full = try VerifyingServer().configuration
        var configuration = MobileTokenClient.Configuration()
        configuration.version = .v4_0
        configuration.suite = .p384
        configuration.store = ActivationStore.inMemory()
        let error = #expect(throws: MobileTokenError.self) {
            try MobileTokenClient(
                baseURL: VerifyingServer.baseURL,
                sdkConfiguration: SDKConfiguration(
                    applicationKey: full.applicationKey,
                    applicationSecret: full.applicationSecret,
                    masterPublicKey: full.masterPublicKey
                ),
                configuration: configuration
            )
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func aServerThatDemandsVersion4IsToldFromOthers() async throws {
        let fixture = try Fixture()
        fixture.server.setFate { request in
            guard request.url.contains("/pa/v3/") else { return .delivered }
            let body = #"{"status":"ERROR","responseObject":{"code":"ERR_TEMPORARY_KEY","message":"refused"}}"#
            return .answered(HTTPResponse(status: 400, body: Array(body.utf8)))
        }
        let code = try fixture.server.makeCode(version: .v4_0)
        let error = await #expect(throws: MobileTokenError.self) {
            try await fixture.client.activate(code: code, password: Fixture.secret)
        }
        #expect(error?.code == .temporaryKeyRefused)
        #expect(error?.message.contains("4.0 (EC_P384") == true)
    }

    // MARK: Confirming

    @Test(arguments: [1, 2]) func aConfirmationThatMayBeLostIsRepeated(losses: Int) async throws {
        let fixture = try Fixture(version: .v4_0)
        let rest = Shared(losses)
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/activation/confirm") else { return .delivered }
            return rest.update { rest in
                defer { rest -= 1 }
                return rest > 0 ? .answered(HTTPResponse(status: 502, body: [])) : .delivered
            }
        }
        let activation = try await fixture.activate()
        #expect(fixture.server.requestCount("/activation/confirm") == losses + 1)
        try await activation.approve("a", with: Fixture.twoFactors)
    }

    @Test func aLostAnswerToAConfirmationIsMadeUpForByTheStatus() async throws {
        let fixture = try Fixture(version: .v4_0)
        fixture.server.setFate { $0.url.hasSuffix("/activation/confirm") ? .answerLost : .delivered }
        let activation = try await fixture.activate()
        #expect(fixture.server.requestCount("/activation/confirm") == 1)
        try await activation.approve("a", with: Fixture.twoFactors)
    }

    @Test func aConfirmationThatNeverArrivesCanBeMadeLater() async throws {
        let fixture = try Fixture(version: .v4_0)
        fixture.server.setFate { $0.url.hasSuffix("/activation/confirm") ? .requestLost : .delivered }
        // The store is shared: another process's activation may be the last one.
        try await fixture.client.server.store.insert(ActivationStoreConformance.sparseRecord("zzz"))
        let error = await #expect(throws: MobileTokenError.self) { _ = try await fixture.activate() }
        #expect(error?.code == .activationNotConfirmed)
        let id = try #require(error?.activationID)
        let activation = try await fixture.client.activation(id: id)
        #expect(await errorCode { try await activation.approve("a") } == .activationNotConfirmed)
        #expect(try await activation.status().flags == .awaitsConfirmation)
        fixture.server.setFate { _ in .delivered }
        try await activation.confirm(password: Fixture.secret)
        try await activation.confirm(password: Fixture.secret)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().flags == [])
    }

    // MARK: Factors

    @Test func theNewPasswordSignsAndTheOldOneDoesNot() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        let factor = try await activation.unlockKnowledge(password: Fixture.secret)
        let old = try await activation.storedRecord().version4?.knowledgeKey
        let new = SecretBytes(utf8: "new-password")
        try await activation.changePassword(from: Fixture.secret, to: new)
        try await activation.approve("a", with: .possessionAndKnowledge(password: new))
        await expectError(.authenticationFailed) { try await activation.approve("b", with: Fixture.twoFactors) }
        let keys = try #require(try await activation.storedRecord().version4)
        #expect(keys.otherKnowledgeKey == nil && keys.knowledgeKey != old)
        // A factor of the old key is known to be one, and costs no attempt.
        let unlocked = Activation.Authentication.possessionAndKnowledge(unlocked: factor)
        #expect(await errorCode { try await activation.approve("c", with: unlocked) } == .factorOutdated)
        #expect(try await activation.status().failedAttempts == 1)
        #expect(try fixture.server.keys4(activation.activationID).factorKeys.knowledge.pending == nil)
    }

    @Test func aLostPasswordChangeLeavesTheOldPassword() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        fixture.server.setFate { $0.url.hasSuffix("/password/change") ? .answerLost : .delivered }
        let new = SecretBytes(utf8: "new-password")
        await expectError(.connectionLost) {
            try await activation.changePassword(from: Fixture.secret, to: new)
        }
        #expect(try fixture.server.keys4(activation.activationID).factorKeys.knowledge.pending != nil)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try fixture.server.keys4(activation.activationID).factorKeys.knowledge.pending == nil)
        fixture.server.setFate { _ in .delivered }
        try await activation.changePassword(from: Fixture.secret, to: new)
        try await activation.approve("b", with: .possessionAndKnowledge(password: new))
    }

    @Test(arguments: [true, false]) func biometryIsAddedReplacedAndRemoved(atActivation: Bool) async throws {
        let fixture = try Fixture(version: .v4_0)
        let activation = try await fixture.activate(biometryKey: atActivation ? self.unlockKey : nil)
        #expect(try await activation.hasBiometryFactor() == atActivation)
        #expect(try await activation.status().flags.contains(.biometryIsOn) == atActivation)
        if atActivation { try await activation.approve("a", with: .possessionAndBiometry(key: self.unlockKey)) }
        let other = SecretBytes(copying: Array(1..<17))
        try await activation.addBiometryFactor(key: other, password: Fixture.secret)
        try await activation.approve("b", with: .possessionAndBiometry(key: other))
        #expect(try fixture.server.keys4(activation.activationID).factorKeys.biometry.pending == nil)
        try await activation.removeBiometryFactor()
        #expect(try await !activation.hasBiometryFactor())
        #expect(try await activation.status().flags == [])
        await expectError(.invalidAuthentication) {
            try await activation.approve("c", with: .possessionAndBiometry(key: other))
        }
    }

    @Test func threeFactorsAtOnceAreNotOfThisVersion() async throws {
        let activation = try await Fixture(version: .v4_0).activate(biometryKey: self.unlockKey)
        var all = Fixture.twoFactors
        all.biometryKey = self.unlockKey
        #expect(await errorCode { try await activation.approve("a", with: all) } == .invalidAuthentication)
    }

    // MARK: The vault

    @Test(.wireFact("A9"), arguments: AlgorithmSuite.available) func theVaultDerivesKeysAndSigns(suite: AlgorithmSuite)
        async throws
    {
        let fixture = try Fixture(suite: suite, version: .v4_0)
        let activation = try await fixture.activate(biometryKey: self.unlockKey)
        let two = Fixture.twoFactors
        let key = try await activation.deriveDataKey(index: 1, with: two)
        #expect(key.count == 16)
        #expect(try await activation.deriveDataKey(index: 1, with: two) == key)
        #expect(try await activation.deriveDataKey(index: 2, with: two) != key)
        let withBiometry = Activation.Authentication.possessionAndBiometry(key: self.unlockKey)
        let shared = try await activation.deriveApplicationKey(index: 1, from: .twoFactors, with: withBiometry)
        #expect(shared.count == 32)
        #expect(try await activation.deriveApplicationKey(index: 1, from: .twoFactors, with: two) == shared)
        await expectError(.invalidAuthentication) {
            _ = try await activation.deriveApplicationKey(index: 1, from: .knowledge, with: withBiometry)
        }
        let data = Array("a document".utf8)
        // The server decides whether biometry opens the device's keys.
        _ = try await activation.deviceSignature(of: data, with: withBiometry)
        let signature = try await activation.deviceSignature(of: data, with: two)
        let keys = try fixture.server.keys4(activation.activationID).deviceKeys
        #expect(keys.isValid(Version4.Signature(ecdsa: signature.ecdsa, mldsa: signature.mldsa), for: data))
        #expect((signature.mldsa != nil) == (suite != .p384))
    }

    // MARK: Without a network

    @Test(.wireFact("2.7"), arguments: 4...8) func anOfflineCodeIsTheServersToo(digits: Int) async throws {
        let fixture = try Fixture(version: .v4_0) { $0.offlineCodeDigits = digits }
        let activation = try await fixture.activate()
        let keys = try fixture.server.keys4(activation.activationID)
        let (data, nonce) = (Array("id&A1".utf8), [UInt8](repeating: 7, count: 16))
        let code = try await activation.offlineSignature(
            data: data,
            nonce: nonce,
            uriID: "/operation/authorize/offline",
            with: Fixture.twoFactors
        )
        let verifier = Version4.AuthenticationCodeVerifier(keys: keys.factorKeys, counter: keys.counter)
        let signed = SignatureData(method: "POST", uriID: "/operation/authorize/offline", nonce: nonce, body: data)
        let outcome = try verifier.verify(
            offline: code,
            of: .possessionKnowledge,
            for: signed,
            componentLength: digits
        )
        guard case .accepted = outcome else {
            Issue.record("the server refuses the code \(code)")
            return
        }
        let tag = try Version4.OfflineQRMAC.tag(
            of: Array("lines\n2".utf8),
            key: keys.derived.utility.personalizedData
        )
        #expect(activation.isSignedByServer(Array("lines\n2".utf8), signature: tag, key: .shared))
        #expect(!activation.isSignedByServer(Array("lines\n1".utf8), signature: tag, key: .shared))
        let signature = try keys.serverKeys.ecdsa.derSignature(for: data)
        #expect(activation.isSignedByServer(data, signature: signature))
        #expect(!activation.isSignedByServer(data, signature: signature, key: .master))
    }

    // MARK: Counters

    @Test(arguments: -25...25) func aSignaturePutsTheCountersRight(distance: Int) async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        if distance < 0 {
            fixture.server.change(activation.activationID) { try $0.advanceCounter(by: -distance) }
        } else if distance > 0 {
            _ = try await fixture.store.update(activation.activationID) { record in
                for _ in 0..<distance { record.counter = record.counter.next() }
                record.isUnsettled = true
            }
        }
        let error = await errorCode { try await activation.approve("a", with: Fixture.twoFactors) }
        switch distance {
        // A refused code has itself moved the counter one step closer.
        case ...(-21): #expect(error == .stateRolledBack)
        case ...19: #expect(error == nil)
        default: #expect(error == .deadlock)
        }
    }

    @Test(arguments: ProtocolVersion.allCases) func anActivationIsRenamed(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        #expect(try await activation.nameAtServer(authenticatedBy: Fixture.twoFactors) == "bot")
        try await activation.rename(to: "other", with: Fixture.twoFactors)
        #expect(try await activation.nameAtServer(authenticatedBy: Fixture.twoFactors) == "other")
        #expect(try await activation.storedRecord().name == "other")
        #expect(fixture.server.requestCount("/token/create") == 1)
    }
}
