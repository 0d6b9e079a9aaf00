import HTTPTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing

/// Counters that are apart, and how they come together again.
@Suite(.timeLimit(.minutes(4))) struct CounterTests {
    @Test(arguments: [1, 19, 20]) func aServerAheadIsFollowedByOneRefusedSignature(steps: UInt64) async throws {
        try await withDevice { emulator, activation, observer, _ in
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: steps)
            let position = await emulator.journalPosition
            try await activation.validate(.twoFactors)

            let journal = await emulator.journal(since: position)
            #expect(journal.calls == ["validate", "status", "validate"])
            #expect(journal.map(\.isAccepted) == [false, true, true])
            #expect(observer.retries == [.counterMoved])
            // The refused signature has brought the client one step closer.
            #expect(observer.distances == [1 - Int(steps)])
            #expect(try await activation.status().counter.result == .inSync)
            #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
        }
    }

    @Test(arguments: [1, 19]) func aServerAheadIsFollowedByAStatusWithoutASignature(steps: Int) async throws {
        try await withDevice { emulator, activation, _, _ in
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: UInt64(steps))
            let comparison = try await activation.status().counter
            #expect(comparison.result == .movedForward(steps))
            #expect(comparison.distance == -steps)
            #expect(comparison.window == 20)
            #expect(try await activation.status().counter.result == .inSync)
            try await activation.validate(.twoFactors)
            #expect(await emulator.signedRequests(of: activation).refusals == [])
        }
    }

    @Test func aServerAheadByTheWindowIsInAStatusADeadlockThatASignatureStillUndoes() async throws {
        try await withDevice { emulator, activation, _, _ in
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: 20)
            #expect(try await activation.status().counter.result == .deadlock)
            try await activation.validate(.twoFactors)
            #expect(try await activation.status().counter.result == .inSync)
        }
    }

    /// This side moves its counter before it signs, so a server ahead of it has seen a later state of the store.
    @Test func aServerAheadByMoreThanTheWindowShowsThatTheStoreWentBack() async throws {
        try await withDevice { emulator, activation, observer, _ in
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: 21)
            let error = try await #require(throws: MobileTokenError.self) { try await activation.validate(.twoFactors) }
            #expect(error.code == .stateRolledBack)
            #expect(observer.retries == [])
            #expect(try await activation.status().counter.result == .deadlock)
        }
    }

    @Test func aClientAheadByHalfTheWindowNeedsNothing() async throws {
        try await withDevice { emulator, activation, _, isLosing in
            try await Self.runAhead(activation, by: 10, isLosing)
            let comparison = try await activation.status().counter
            #expect(comparison.result == .inSync)
            #expect(comparison.distance == 10)
            let position = await emulator.journalPosition
            try await activation.validate(.twoFactors)
            let signed = await emulator.signedRequests(of: activation, since: position)
            #expect(signed.count == 1)
            #expect(signed.refusals == [])
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    @Test(arguments: [11, 19]) func aClientAheadByMoreMakesOneSignatureForTheServerToCatchUp(steps: Int) async throws {
        try await withDevice { emulator, activation, _, isLosing in
            try await Self.runAhead(activation, by: steps, isLosing)
            let position = await emulator.journalPosition
            let comparison = try await activation.status().counter
            #expect(comparison.result == .signatureRecommended)
            #expect(comparison.distance == steps)
            let signed = await emulator.signedRequests(of: activation, since: position)
            #expect(signed.calls == ["validate"])
            #expect(signed.refusals == [])
            #expect(try await activation.status().counter.distance == 0)
            try await activation.validate(.twoFactors)
        }
    }

    @Test func aSignatureThatComesFirstLetsTheServerCatchUpToo() async throws {
        try await withDevice { emulator, activation, _, isLosing in
            try await Self.runAhead(activation, by: 11, isLosing)
            let position = await emulator.journalPosition
            try await activation.validate(.twoFactors)
            let journal = await emulator.journal(since: position)
            #expect(journal.calls == ["status", "validate", "validate"])
            #expect(journal.refusals == [])
        }
    }

    @Test func aClientAheadByTheWindowTriesOnceAndNamesTheDeadlock() async throws {
        try await withDevice { emulator, activation, _, isLosing in
            try await Self.runAhead(activation, by: 20, isLosing)
            let position = await emulator.journalPosition
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == .deadlock)
            let signed = await emulator.signedRequests(of: activation, since: position)
            #expect(signed.count == 1)
            #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
        }
    }

    @Test func aClientAheadByMoreThanTheWindowIsADeadlockAndSignsNoMore() async throws {
        try await withDevice { emulator, activation, _, isLosing in
            try await Self.runAhead(activation, by: 21, isLosing)
            let comparison = try await activation.status().counter
            #expect(comparison.result == .deadlock)
            #expect(comparison.distance == 21)
            let position = await emulator.journalPosition
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == .deadlock)
            #expect(await emulator.signedRequests(of: activation, since: position) == [])
        }
    }

    /// Loses so many signed requests on the way to the server.
    private static func runAhead(_ activation: Activation, by steps: Int, _ isLosing: Shared<Bool>) async throws {
        isLosing.value = true
        for _ in 0..<steps {
            #expect(try await errorCode { try await activation.validate(.possession) } == .connectionLost)
        }
        isLosing.value = false
    }

    private func withDevice(
        _ body: (Emulator, Activation, RecordingObserver, _ isLosing: Shared<Bool>) async throws -> Void
    ) async throws {
        try await withEmulator { emulator in
            let (observer, isLosing) = (RecordingObserver(), Shared(false))
            let client = try emulator.makeClient {
                $0.observer = observer
                $0.transport = try InterceptingTransport { request, deliver in
                    guard !isLosing.value || !request.isSigned else { throw HTTPTransportError(.connectionLost) }
                    return try await deliver(request)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await body(emulator, activation, observer, isLosing)
        }
    }
}
