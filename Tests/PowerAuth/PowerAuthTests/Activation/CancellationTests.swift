import HTTPClientTransport
import Synchronization
import Testing
import TestSupport

import EmulatorBackend
import PowerAuth

/// Every call, canceled at every place where it waits for the network or the store.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CancellationTests {
    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: @Sendable (Fixture, Activation) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (Fixture, Activation) async throws -> Void) {
            self.testDescription = name
            self.body = body
        }
    }

    static let calls: [Call] = [
        Call("signed post") { _, activation in
            try await activation.approve("x", with: Fixture.twoFactors)
        },
        Call("signed post after an unknown end") { fixture, activation in
            fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
            try? await activation.approve("lost")
            fixture.server.setFate { _ in .delivered }
            try await activation.approve("x")
        },
        Call("signed post with the server ahead") { fixture, activation in
            fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 3) }
            try await activation.approve("x")
        },
        Call("signed post with a wrong password") { _, activation in
            do {
                try await activation.approve("x", with: .possessionAndKnowledge(password: "wrong"))
            } catch let error as MobileTokenError where error.code == .authenticationFailed {}
        },
        Call("token post") { _, activation in try await activation.poll() },
        Call("token post with a forgotten token") { fixture, activation in
            try await activation.poll()
            fixture.server.forgetTokens()
            try await activation.poll()
        },
        Call("status") { _, activation in _ = try await activation.status() },
        Call("vault") { _, activation in
            _ = try await activation.deriveDataKey(index: 1, with: Fixture.twoFactors)
        },
        Call("adding biometry") { _, activation in
            let key = SecretBytes(copying: Array(0..<16))
            try await activation.addBiometryFactor(key: key, password: SecretBytes(utf8: Fixture.password))
        },
        Call("removing a token") { _, activation in
            try await activation.requestToken("t")
            try await activation.removeToken("t")
        },
        Call("user info") { _, activation in _ = try await activation.userInfo() },
        Call("offline signature") { _, activation in
            _ = try await activation.offlineSignature(
                data: [1],
                nonce: Array(0..<16),
                uriID: "/x",
                with: Fixture.twoFactors
            )
        },
        Call("activation") { fixture, _ in _ = try await fixture.activate() },
    ]

    @Test(arguments: Self.calls, [true, false])
    func theGateStaysUsableAndTheCounterInStep(call: Call, transportHonoursCancellation: Bool) async throws {
        let checkpoints = Checkpoints()
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let fixture = try Fixture(
            server: server,
            store: store.reopened { CheckpointDriver(base: $0, checkpoints: checkpoints) },
            transport: CheckpointTransport(
                base: server,
                checkpoints: checkpoints,
                honoursCancellation: transportHonoursCancellation
            )
        )

        var place = 1
        while true {
            // A new activation each time, so that every place of the call's first run is met again.
            checkpoints.arm(stopAt: nil)
            let activation = try await fixture.activate()
            checkpoints.arm(stopAt: place)
            let task = Task { try await call.body(fixture, activation) }
            let end = Shared(false)
            let watcher = Task {
                _ = await task.result
                end.value = true
            }
            await until { checkpoints.isStopped || end.value }
            guard checkpoints.isStopped else { break }  // the call has no more places than this

            task.cancel()
            // Other tests check whether the call ends now, or waits for a store that does not heed cancellation.
            checkpoints.release()
            await watcher.value
            await until { !activation.isSigning }

            try await activation.approve("after \(place)", with: Fixture.twoFactors)
            try await activation.poll()
            let status = try await activation.status()
            #expect(status.state == .active)
            #expect(status.counter.distance == 0)
            #expect(server.state.withLock { $0.accepted.count { $0 == "after \(place)" } } == 1)
            place += 1
        }
        #expect(place > 4)
    }

    @Test func aCanceledCallerHasItsErrorAtOnceWhileTheSignedRequestGoesOn() async throws {
        let (fixture, activation) = try await Fixture().activated
        let arrived = Shared(false)
        let hold = Shared(true)
        fixture.server.setFate { _ in
            arrived.value = true
            await until { !hold.value }
            return .delivered
        }
        let task = Task { try await activation.approve("x") }
        await until { arrived.value }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(activation.isSigning)
        #expect(fixture.server.state.value.accepted.isEmpty)

        hold.value = false
        await until { !activation.isSigning }
        #expect(fixture.server.state.value.accepted == ["x"])
        try await activation.approve("y")
        #expect(fixture.server.requestCount("/activation/status") == 0)
    }

    @Test func aTokenCreatedForACallerThatLeftIsKept() async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        let arrived = Shared(false)
        let hold = Shared(true)
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/token/create") else { return .delivered }
            arrived.value = true
            await until { !hold.value }
            return .delivered
        }
        let task = Task { try await activation.poll() }
        await until { arrived.value }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        hold.value = false
        await until { !activation.isSigning }
        #expect(try await activation.tokenNames() == ["possession_universal"])
        try await activation.poll()
        #expect(fixture.server.requestCount("/token/create") == 1)
    }

    @Test func aRequestCanceledWhileItWaitsForItsTurnIsNeverSigned() async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        let hold = fixture.server.hold("")
        let first = Task { try await activation.approve("first") }
        await until { activation.isSigning }
        let second = Task { try await activation.approve("second") }
        await until { activation.waitingSignatureCount == 1 }
        await #expect(throws: CancellationError.self) { try await second.stop() }
        hold.value = false
        try await first.value
        #expect(fixture.server.state.value.accepted == ["first"])
        #expect(try await store.record(of: activation.activationID)?.history.moves == 1)
    }
}
