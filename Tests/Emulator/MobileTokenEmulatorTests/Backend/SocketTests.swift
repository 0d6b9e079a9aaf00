import Dispatch
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenEmulator
import MobileTokenTesting
import PowerAuthProtocol
import Synchronization
import TestSupport
import Testing

/// The same client as in the other suites, with a socket in between.
@Suite(.timeLimit(.minutes(5))) struct SocketTests {
    @Test func theWholeJobIsDoneOverASocket() async throws {
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword, configuration.seed) = ("cloud", "secret", 7)
        try await withEmulator(configuration) { emulator async throws in
            try await onThread {
                // The seed gives both the same application.
                var fixture = try BackendFixture(seed: 7)
                fixture.now = Date()
                fixture.wire = { emulator.exchange($0) }
                var device = try fixture.deviceWithToken()
                let approved = try fixture.operation()
                let rejected = try fixture.operation("payment")
                #expect(device.operations(in: &fixture).count == 2)
                let approval = try device.authorize(approved, in: &fixture)
                #expect(approval.outcome == "200 OK")
                let rejection = try device.reject(rejected.id, in: &fixture)
                #expect(rejection.outcome == "200 OK")
                #expect(device.operations(in: &fixture).isEmpty)
                device.wrongKnowledge = device.keys?.possession
                let refused = try device.authorize(approved, in: &fixture)
                #expect(refused.outcome == "400 INVALID_OPERATION")
            }
            let statuses = await emulator.operations().map(\.status)
            #expect(statuses == [.rejected, .approved])
            let activation = try #require(await emulator.activations().first)
            #expect(activation.counter == 3)
            #expect(activation.failedAttempts == 1)
        }
    }

    /// The largest messages are those of the hybrid suites.
    @Test(arguments: AlgorithmSuite.available)
    func theWholeJobIsDoneInVersionFour(suite: AlgorithmSuite) async throws {
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword, configuration.seed) = ("cloud", "secret", 7)
        let folder = try TemporaryFolder()
        configuration.dataFile = folder.file("state")
        let device = Mutex<TestDevice4?>(nil)
        func run(_ work: @escaping @Sendable (inout BackendFixture) throws -> Void) async throws {
            try await withEmulator(configuration) { emulator async throws in
                try await onThread {
                    var fixture = try BackendFixture(seed: 7)
                    fixture.now = Date()
                    fixture.wire = { emulator.exchange($0) }
                    try work(&fixture)
                }
                #expect(await emulator.activations().map(\.suite) == [suite])
            }
        }
        try await run { fixture in
            var made = try fixture.activeDevice4(suite: suite)
            try made.createToken(in: &fixture)
            _ = try fixture.operation("payment")
            let listed = try made.sendToken(to: "/api/auth/token/app/operation/list", in: &fixture)
            #expect(listed.object.array?.count == 1)
            device.withLock { $0 = made }
        }
        // Another process reads what the first has written.
        try await run { fixture in
            var known = try #require(device.withLock { $0 })
            known.forgetTemporaryKeys()
            #expect(try known.validate(in: &fixture).outcome == "200 OK")
            #expect(try known.status(in: &fixture).blob.state == .active)
            #expect(try known.sendToken(to: "/api/inbox/count", in: &fixture).outcome == "200 OK")
        }
    }

    @Test func faultsStrikeVersionFourToo() async throws {
        try await withEmulator { emulator async throws in
            let rule = #"{"match":{"path":"/pa/v4/**"},"effect":{"status":503}}"#
            #expect(try await emulator.send("POST", "/_emulator/faults", body: rule).status == 200)
            #expect(try await emulator.send("POST", "/pa/v4/status", body: "{}").status == 503)
            #expect(try await emulator.send("POST", "/pa/v3/status", body: "{}").status == 200)
        }
    }
}

/// Runs blocking work where it does not keep the cooperative pool from answering it.
private func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
    }
}

extension Emulator {
    /// Sends a request and waits for the answer. Not for tasks: it blocks its thread.
    fileprivate func exchange(_ request: ReceivedRequest) -> Reply {
        let answer = Mutex<Reply?>(nil)
        let arrived = DispatchSemaphore(value: 0)
        Task {
            let fields = request.headers.filter { $0.name != "Content-Type" }.map { "\($0.name): \($0.value)" }
            let response = try? await self.send(
                request.method,
                "/enrollment-server" + request.path,
                headers: fields,
                body: String(decoding: request.body, as: UTF8.self)
            )
            answer.withLock { $0 = Reply(status: response?.status ?? 0, body: response?.body ?? []) }
            arrived.signal()
        }
        arrived.wait()
        return answer.withLock { $0 } ?? Reply(status: 0)
    }
}
