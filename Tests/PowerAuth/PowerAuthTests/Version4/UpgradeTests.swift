@testable import EmulatorBackend
import StoreTesting
import HTTPClientTransport
import Synchronization
import Testing
import TestSupport
import WireFacts

import PowerAuth
@testable import PowerAuthClient

@Suite(.timeLimit(.minutes(10))) struct UpgradeTests {
    private let unlockKey = SecretBytes(copying: Array(0..<16))

    @Test(arguments: AlgorithmSuite.available) func anActivationGoesOnInVersion4(suite: AlgorithmSuite) async throws {
        let fixture = try Fixture(suite: suite)
        let activation = try await fixture.activateInVersion3(biometryKey: self.unlockKey)
        try await activation.poll()
        #expect(activation.version == .v3_3)
        #expect(try await activation.status().isUpgradeOffered)
        let before = try await activation.storedRecord().counterMoves
        try await activation.upgrade(password: Fixture.secret, biometryKey: self.unlockKey)
        #expect(activation.version == .v4_0)
        let record = try await activation.storedRecord()
        #expect(record.version == .v4_0)
        #expect(record.tokens.isEmpty)
        #expect(record.counterMoves > before)
        try await activation.approve("a", with: Fixture.twoFactors)
        try await activation.approve("b", with: .possessionAndBiometry(key: self.unlockKey))
        try await activation.poll()
        let status = try await activation.status()
        #expect(!status.isUpgradeOffered)
        #expect(status.flags == .biometryIsOn)
        #expect(fixture.server.state.withLock { $0.accepted } == ["a", "b"])
        // Once is enough.
        try await activation.upgrade(password: Fixture.secret, biometryKey: self.unlockKey)
        #expect(fixture.server.requestCount("/upgrade/start") == 1)
    }

    /// Only `CTR_DATA` is new. A number that began again would be a deadlock at the next status of a real server.
    @Test(.wireFact("17"), arguments: [0, 2, 254])
    func theNumberOfTheCodesGoesOn(approvals: Int) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        for number in 0..<approvals { try await activation.approve("\(number)") }
        fixture.server.setFate(.answerLost, ofFirst: "/upgrade/start")
        // The signatures of version 3 after a first attempt count as well.
        await expectError(.connectionLost) { try await activation.upgrade(password: Fixture.secret) }
        try await activation.approve("between")
        try await activation.upgrade(password: Fixture.secret)
        let record = try await activation.storedRecord()
        // A start in vain, an approval, the start and the confirmation.
        #expect(record.counterMoves == UInt64(approvals) + 4)
        #expect(record.counter.byte == UInt8(truncatingIfNeeded: record.counterMoves))
        let server = try fixture.server.keys4(activation.activationID)
        #expect(server.steps == record.counterMoves && server.counter.byte == record.counter.byte)
        #expect(server.counter.data == record.counter.data)
        #expect(try await activation.status().counter.distance == 0)
    }

    @Test func anUpgradeThatIsNotOfferedChangesNothing() async throws {
        let fixture = try Fixture()
        let code = try fixture.server.makeCode()
        let activation = try await fixture.client.activate(code: code, password: Fixture.secret)
        #expect(try await !activation.status().isUpgradeOffered)
        await expectError(.upgradeNotOffered) { try await activation.upgrade(password: Fixture.secret) }
        try await activation.validate(Fixture.twoFactors)
        #expect(activation.version == .v3_3)
    }

    @Test func aWrongPasswordDoesNotUpgrade() async throws {
        let activation = try await Fixture().activateInVersion3()
        await expectError(.authenticationFailed) {
            try await activation.upgrade(password: SecretBytes(utf8: "wrong-password"))
        }
        #expect(activation.version == .v3_3)
        try await activation.upgrade(password: Fixture.secret)
    }

    @Test func aBiometryFactorIsNotLostByMistake() async throws {
        let fixture = try Fixture()
        let activation = try await fixture.activateInVersion3(biometryKey: self.unlockKey)
        await expectError(.invalidAuthentication) { try await activation.upgrade(password: Fixture.secret) }
        #expect(fixture.server.requestCount("/upgrade/start") == 0)
    }

    @Test(arguments: ["/upgrade/start", "/upgrade/confirm"]) func aLostAnswerIsMadeUpFor(path: String) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        fixture.server.setFate(.answerLost, ofFirst: path)
        let error = await errorCode { try await activation.upgrade(password: Fixture.secret) }
        #expect(error == (path == "/upgrade/start" ? .connectionLost : nil))
        if error != nil {
            #expect(activation.version == .v3_3)
            try await activation.validate(Fixture.twoFactors)
            try await activation.upgrade(password: Fixture.secret)
        }
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(activation.version == .v4_0)
    }

    /// Each confirmation that does not arrive moves the counter: after eleven of them the server would be asked to catch up by another
    /// signature, which it refuses, and counts, until it has the confirmation.
    @Test(.wireFact("17"), arguments: ["upgrade", "status"])
    func aConfirmationThatWasLostOftenIsSentAllTheSame(by call: String) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        fixture.server.setFate { $0.url.hasSuffix("/upgrade/confirm") ? .requestLost : .delivered }
        for _ in 0..<12 {
            await expectError(.noConnection) { try await activation.upgrade(password: Fixture.secret) }
        }
        fixture.server.setFate { _ in .delivered }
        if call == "status" {
            _ = try await activation.status()
        } else {
            try await activation.upgrade(password: Fixture.secret)
        }
        #expect(fixture.server.requestCount("/upgrade/confirm") == 13)
        #expect(fixture.server.requestCount("/auth/validate") == 0)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().failedAttempts == 0)
    }

    /// Between a status and a restore, another process may have signed.
    @Test(arguments: [(2, nil), (3, MobileTokenError.Code.storeBusy)])
    func aStoreThatIsRestoredBeforeTheConfirmationIsComparedAgain(times: Int, code: MobileTokenError.Code?) async throws
    {
        let (driver, key) = (ScriptedDriver(), SecureRandom.secret(Sealing.keyByteCount))
        let store = ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { key }))
        let (fixture, activation) = try await Fixture(store: store).activatedInVersion3
        fixture.server.setFate { $0.url.hasSuffix("/upgrade/confirm") ? .requestLost : .delivered }
        await expectError(.noConnection) { try await activation.upgrade(password: Fixture.secret) }
        let (isAsked, left) = (Shared(false), Shared(times))
        fixture.server.setFate { request in
            if request.url.hasSuffix("/activation/status") { isAsked.value = true }
            return .delivered
        }
        // As the next change after a status is written, but for that of the comparison itself.
        driver.hook.withLock { hook in
            hook = { call in
                guard call == .swap, let change = driver.swaps.last,
                    let row = try? await driver.base.load(change.activationID),
                    row.comparedEpoch == change.comparedEpoch, left.value > 0, isAsked.take()
                else { return }
                left.update { $0 -= 1 }
                driver.epoch += 1
            }
        }
        #expect(await errorCode { try await activation.upgrade(password: Fixture.secret) } == code)
        #expect(left.value == 0)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(activation.version == .v4_0)
        #expect(fixture.server.state.withLock { $0.accepted } == ["a"])
    }

    /// The same while something on the way refuses it, so that the upgrade goes on waiting.
    @Test(.wireFact("17")) func nothingElseIsSignedWhileAConfirmationIsAwaited() async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        fixture.server.setFate { $0.url.hasSuffix("/upgrade/confirm") ? .answered(Self.refusal) : .delivered }
        for _ in 0..<12 {
            await expectError(.upgradeFailed) { try await activation.upgrade(password: Fixture.secret) }
        }
        #expect(try await activation.status().counter.result == .signatureRecommended)
        #expect(fixture.server.requestCount("/auth/validate") == 0)
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().failedAttempts == 0)
    }

    private static let refusal = HTTPResponse(
        status: 400,
        body: Array(#"{"status":"ERROR","responseObject":{"code":"ERR_UPGRADE","message":"refused"}}"#.utf8)
    )

    /// A server that offers version 4 and then does not want it.
    @Test(arguments: ["/pa/v4/upgrade/start", "/pa/v4/upgrade/confirm"])
    func aServerThatRefusesAndForgetsLeavesVersion3(path: String) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        fixture.server.setFate { [server = fixture.server] request in
            guard request.url.hasSuffix(path) else { return .delivered }
            server.forgetUpgrade(of: activation.activationID)
            return .answered(Self.refusal)
        }
        await expectError(.upgradeFailed) { try await activation.upgrade(password: Fixture.secret) }
        #expect(activation.version == .v3_3)
        #expect(try await activation.storedRecord().version == .v3_3)
        try await activation.validate(Fixture.twoFactors)
        fixture.server.setFate { _ in .delivered }
        try await activation.upgrade(password: Fixture.secret)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().counter.distance == 0)
    }

    /// As long as the server has the new keys, a confirmation may still reach it: nothing is signed in version 3 meanwhile.
    @Test(.wireFact("17")) func aServerThatRefusesTheConfirmationIsAskedAgain() async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        fixture.server.setFate { request in
            request.url.hasSuffix("/upgrade/confirm") ? .answered(Self.refusal) : .delivered
        }
        await expectError(.upgradeFailed) { try await activation.upgrade(password: Fixture.secret) }
        #expect(activation.version == .v4_0)
        #expect(await errorCode { try await activation.validate(Fixture.twoFactors) } == .upgradeFailed)
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().counter.distance == 0)
    }

    // MARK: Others at the same store

    @Test func anotherNodeThatPollsAndSignsGoesOn() async throws {
        let fixture = try Fixture()
        let other = try Fixture(server: fixture.server, store: fixture.store)
        let activation = try await fixture.activateInVersion3()
        let twin = try await other.client.activation(id: activation.activationID)
        try await twin.poll()
        try await twin.validate(.possession)
        let factor = try await twin.unlockKnowledge(password: Fixture.secret)
        // Version 3 is gone at the server as soon as the upgrade is confirmed.
        try await activation.upgrade(password: Fixture.secret)
        fixture.server.forgetTokens()
        try await twin.poll()
        #expect(twin.version == .v4_0)
        try await twin.approve("a", with: Fixture.twoFactors)
        let unlocked = Activation.Authentication.possessionAndKnowledge(unlocked: factor)
        #expect(await errorCode { try await twin.approve("b", with: unlocked) } == .factorOutdated)
        #expect(try await twin.status().failedAttempts == 0)
    }

    @Test func aRequestWithATokenWaitsForTheEndOfAnUpgrade() async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        try await activation.poll()
        let paths = Shared<[String]>([])
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (polled, poll) = AsyncStream.makeStream(of: Void.self)
        fixture.server.setFate { request in
            paths.update { $0.append(request.url) }
            if request.url.hasSuffix("/upgrade/confirm") {
                start.finish()
                for await _ in polled {}
            }
            return .delivered
        }
        async let upgrade: Void = activation.upgrade(password: Fixture.secret)
        for await _ in started {}
        async let token: Void = activation.poll()
        while activation.waitingSignatureCount == 0 { await Task.yield() }
        #expect(paths.value.last?.hasSuffix("/upgrade/confirm") == true)
        poll.finish()
        try await upgrade
        try await token
        #expect(paths.value.last?.hasSuffix("/api/token") == true)
    }

    // MARK: Kills

    /// The process dies at every place where it waits for the network or the store, and another one goes on.
    @Test func aKillAtAnyPlaceRecovers() async throws {
        var place = 1
        while true {
            let fixture = try Fixture()
            let id = try await fixture.activateInVersion3().activationID
            let life = Life(endingAt: place)
            let dying = try Fixture(
                server: fixture.server,
                store: fixture.store.reopened { MortalDriver(base: $0, life: life) },
                transport: MortalTransport(base: fixture.server, life: life)
            )
            let victim = try await dying.client.activation(id: id)
            life.begin()
            let error = await errorCode { try await victim.upgrade(password: Fixture.secret) }
            let heir = try Fixture(server: fixture.server, store: fixture.store)
            let activation = try await heir.client.activation(id: id)
            try await activation.poll()
            #expect(try await !fixture.store.isUpgrading(id), "killed at \(place)")
            if fixture.server.activation(id)?.device?.version == .version4 || activation.version == .v4_0 {
                try await activation.approve("a", with: Fixture.twoFactors)
                #expect(activation.version == .v4_0)
            } else {
                try await activation.validate(Fixture.twoFactors)
                try await activation.upgrade(password: Fixture.secret)
            }
            try await activation.approve("b", with: Fixture.twoFactors)
            let status = try await activation.status()
            #expect(status.flags == [], "killed at \(place)")
            #expect(status.failedAttempts == 0)
            #expect(status.counter.distance == 0)
            guard error != nil else { break }
            place += 1
        }
        #expect(place > 20)
    }

    @Test(arguments: ["activate", "password"]) func otherKillsRecoverToo(what: String) async throws {
        var place = 1
        while true {
            let life = Life(endingAt: place)
            let store = ActivationStore.inMemory()
            let server = try VerifyingServer()
            let dying = try Fixture(
                version: .v4_0,
                server: server,
                store: store.reopened { MortalDriver(base: $0, life: life) },
                transport: MortalTransport(base: server, life: life)
            )
            let heir = try Fixture(version: .v4_0, server: server, store: store)
            let new = SecretBytes(utf8: "new-password")
            let error: MobileTokenError.Code?
            if what == "activate" {
                life.begin()
                error = await errorCode { _ = try await dying.activate() }
            } else {
                let id = try await heir.activate().activationID
                let victim = try await dying.client.activation(id: id)
                life.begin()
                error = await errorCode { try await victim.changePassword(from: Fixture.secret, to: new) }
            }
            if let id = try await store.activationIDs().first {
                let activation = try await heir.client.activation(id: id)
                try await activation.confirm(password: Fixture.secret)
                let changed = try await activation.storedRecord().version4?.knowledgeKey
                let old = try changed?.key(password: Fixture.secret)
                let known = try server.keys4(id).factorKeys.knowledge
                let isOld = old == known.current || old == known.pending
                let password = isOld ? Fixture.secret : new
                try await activation.approve("a", with: .possessionAndKnowledge(password: password))
                #expect(try await activation.status().flags == [], "killed at \(place)")
                #expect(try await activation.status().failedAttempts == 0, "killed at \(place)")
            }
            guard error != nil else { break }
            place += 1
        }
        #expect(place > 8)
    }
}

/// Ends at a place that was chosen beforehand: from there on the process reaches neither network nor store.
private final class Life: Sendable {
    private struct Dead: Error {}

    private let rest: Mutex<Int?>
    private let place: Int

    init(endingAt place: Int) {
        self.place = place
        self.rest = Mutex(nil)
    }

    func begin() { self.rest.withLock { $0 = self.place } }

    func pass() throws {
        try self.rest.withLock { rest in
            guard let left = rest else { return }
            guard left > 1 else {
                rest = 1
                throw Dead()
            }
            rest = left - 1
        }
    }
}

private struct MortalTransport: HTTPTransport {
    let base: any HTTPTransport
    let life: Life

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try self.life.pass()
        let response = try await self.base.send(request)
        try self.life.pass()
        return response
    }
}

private struct MortalDriver: ForwardingDriver {
    let base: any JournalDriver
    let life: Life

    func passing<Result>(_ call: () async throws -> Result) async throws -> Result {
        try self.life.pass()
        let result = try await call()
        try self.life.pass()
        return result
    }
}
