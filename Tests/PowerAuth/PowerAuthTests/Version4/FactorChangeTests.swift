import HTTPClientTransport
import Testing
import TestSupport
import WireFacts

@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient

/// Changes of password and biometry in version 4, whatever the server or the network does to them.
@Suite(.timeLimit(.minutes(5)), .wireFact("3.2")) struct FactorChangeTests {
    private static let new = SecretBytes(utf8: "new-password")
    private static let error = HTTPResponse(status: 500, body: [])
    private static let refusal = HTTPResponse(
        status: 401,
        body: Array(#"{"status":"ERROR","responseObject":{"code":"ERR_AUTHENTICATION","message":"m"}}"#.utf8)
    )
    private let unlockKey = SecretBytes(copying: Array(0..<16))
    private let otherUnlockKey = SecretBytes(copying: Array(16..<32))

    private func keys(of activation: Activation) async throws -> Version4Keys {
        try #require(try await activation.storedRecord().version4)
    }

    /// The server has the new key, and nobody here has heard whether it was proved.
    @Test(arguments: [Self.error, Self.refusal], ["old", "new"])
    func whenTheProofGoesWrongOneOfTheTwoPasswordsWorks(response: HTTPResponse, password: String) async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        fixture.server.setFate { $0.url.hasSuffix("/auth/validate") ? .answered(response) : .delivered }
        let error = await errorCode {
            try await activation.changePassword(from: Fixture.secret, to: Self.new)
        }
        // A refusal that the status does not prove says as little as a failure.
        #expect(error == nil)
        #expect(try await self.keys(of: activation).otherKnowledgeKey != nil)
        fixture.server.setFate { _ in .delivered }
        let right = password == "old" ? Fixture.secret : Self.new
        // A process that knows nothing but the store.
        let heir = try Fixture(version: .v4_0, server: fixture.server, store: fixture.store)
        let again = try await heir.client.activation(id: activation.activationID)
        try await again.approve("a", with: .possessionAndKnowledge(password: right))
        #expect(fixture.server.state.value.accepted == ["a"])
        #expect(try await again.status().failedAttempts == 0)
        // That has shown which of them the server takes.
        #expect(try await self.keys(of: again).otherKnowledgeKey == nil)
        try await again.approve("b", with: .possessionAndKnowledge(password: right))
    }

    /// A server that has answered the agreement and then lost it.
    @Test func aServerThatForgetsTheNewKeyLeavesTheOldPassword() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        let id = activation.activationID
        fixture.server.setFate { [server = fixture.server] request in
            if request.url.hasSuffix("/auth/validate") {
                server.change(id) { activation in
                    activation.updateVersion4Keys {
                        $0.factorKeys.knowledge = Version4.ReplaceableKey(current: $0.factorKeys.knowledge.current)
                    }
                }
            }
            return .delivered
        }
        await expectError(.authenticationFailed) {
            try await activation.changePassword(from: Fixture.secret, to: Self.new)
        }
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().failedAttempts == 0)
        #expect(try await self.keys(of: activation).otherKnowledgeKey == nil)
    }

    /// With one attempt left, nothing is tried that may be wrong.
    @Test func theLastAttemptIsNotSpentOnAGuess() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        fixture.server.setFate { $0.url.hasSuffix("/auth/validate") ? .answered(Self.error) : .delivered }
        try await activation.changePassword(from: Fixture.secret, to: Self.new)
        fixture.server.setFate { _ in .delivered }
        let wrong = Activation.Authentication.possessionAndKnowledge(password: "neither of them")
        fixture.server.change(activation.activationID) { $0.fail(.possessionKnowledge, EmulatorLimits(), at: 0) }
        for attempts in [3, 4] {
            #expect(await errorCode { try await activation.approve("a", with: wrong) } == .authenticationFailed)
            #expect(try await activation.status().failedAttempts == attempts)
        }
        try await activation.approve("b", with: .possessionAndKnowledge(password: Self.new))
        #expect(try await activation.status().failedAttempts == 0)
    }

    @Test(arguments: ["old", "new"]) func aBiometryKeyIsReplacedOnceItIsProved(key: String) async throws {
        let fixture = try Fixture(version: .v4_0)
        let activation = try await fixture.activate(biometryKey: self.unlockKey)
        fixture.server.setFate { $0.url.hasSuffix("/auth/validate") ? .answered(Self.error) : .delivered }
        try await activation.addBiometryFactor(key: self.otherUnlockKey, password: Fixture.secret)
        fixture.server.setFate { _ in .delivered }
        let right = Activation.Authentication.possessionAndBiometry(
            key: key == "old" ? self.unlockKey : self.otherUnlockKey
        )
        try await activation.approve("a", with: right)
        #expect(try await self.keys(of: activation).otherBiometryKey == nil)
        try await activation.approve("b", with: right)
        #expect(try await activation.status().failedAttempts == 0)
        try await activation.removeBiometryFactor()
        #expect(try await !activation.hasBiometryFactor())
    }

    // MARK: Beside an upgrade

    /// The upgrade waits for its turn, has unlocked its keys already, and the password is changed meanwhile.
    @Test(.wireFact("17")) func anUpgradeDoesNotUndoAChangeOfPassword() async throws {
        let activation = try await Fixture().activateInVersion3()
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let (entered, enter) = AsyncStream.makeStream(of: Void.self)
        async let turn: Void = activation.withSigningTurn { _, _ in
            enter.finish()
            for await _ in released {}
        }
        for await _ in entered {}
        async let change: Void = activation.changePasswordUnchecked(from: Fixture.secret, to: Self.new)
        while activation.waitingSignatureCount < 1 { await Task.yield() }
        async let upgrade = errorCode { try await activation.upgrade(password: Fixture.secret) }
        while activation.waitingSignatureCount < 2 { await Task.yield() }
        release.finish()
        try await turn
        try await change
        #expect(await upgrade == .authenticationFailed)
        #expect(activation.version == .v3_3)
        try await activation.upgrade(password: Self.new)
        try await activation.approve("a", with: .possessionAndKnowledge(password: Self.new))
    }

    /// The other way round: the change has begun in version 3, and finds version 4.
    @Test(.wireFact("17")) func aChangeOfPasswordGoesOnInVersion4() async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        let (validating, validated) = AsyncStream.makeStream(of: Void.self)
        let isFirst = Shared(true)
        fixture.server.setFate { request in
            if request.url.hasSuffix("/signature/validate"), isFirst.take() { for await _ in validating {} }
            return .delivered
        }
        async let change: Void = activation.changePassword(from: Fixture.secret, to: Self.new)
        while !activation.isSigning { await Task.yield() }
        async let upgrade: Void = activation.upgrade(password: Fixture.secret)
        while activation.waitingSignatureCount < 1 { await Task.yield() }
        validated.finish()
        try await upgrade
        try await change
        #expect(activation.version == .v4_0)
        try await activation.approve("a", with: .possessionAndKnowledge(password: Self.new))
    }

    /// An upgrade by another process is noticed before anything is done in the old version.
    @Test(.wireFact("17"), arguments: ["remove", "add", "password", "unchecked", "has", "refresh"])
    func anUpgradeOfAnotherProcessIsNoticed(call: String) async throws {
        let fixture = try Fixture()
        let other = try Fixture(server: fixture.server, store: fixture.store)
        let activation = try await fixture.activateInVersion3(biometryKey: self.unlockKey)
        let twin = try await other.client.activation(id: activation.activationID)
        try await activation.upgrade(password: Fixture.secret, biometryKey: self.unlockKey)
        switch call {
        case "remove":
            try await twin.removeBiometryFactor()
            #expect(try await !activation.hasBiometryFactor())
            #expect(try await activation.status().flags == [])
        case "add":
            try await twin.addBiometryFactor(key: self.otherUnlockKey, password: Fixture.secret)
            try await twin.approve("a", with: .possessionAndBiometry(key: self.otherUnlockKey))
        case "password":
            try await twin.changePassword(from: Fixture.secret, to: Self.new)
            try await twin.approve("a", with: .possessionAndKnowledge(password: Self.new))
        case "unchecked":
            await expectError(.notSupported) {
                try await twin.changePasswordUnchecked(from: Fixture.secret, to: Self.new)
            }
        case "has": #expect(try await twin.hasBiometryFactor())
        default: try await twin.refresh()
        }
        #expect(twin.version == .v4_0)
        #expect(twin.fingerprint == activation.fingerprint)
    }
}
