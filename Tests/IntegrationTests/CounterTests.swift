import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Counters that are apart, by every distance around the window of 20, and how they come together again.
@Suite(.timeLimit(.minutes(4))) struct CounterTests {
    /// The results for a client that asks for the status first, and then signs.
    private struct Expectation: Equatable {
        var result: ActivationStatus.CounterComparison.Result
        /// The distance that the status tells; positive when the client is ahead.
        var distance: Int
        /// Signed requests of the status itself: accepted or not.
        var repairs: [Bool] = []
        /// The error of the signature; without one, a single signature is sent.
        var error: MobileTokenError.Code?

        /// - Parameter distance: The number of steps by which the client is ahead; negative when the server is.
        static func afterAStatus(distance: Int) -> Self {
            switch distance {
            case -25 ... -20: Self(result: .rolledBack, distance: distance, error: .stateRolledBack)
            case -19 ... -1: Self(result: .movedForward(-distance), distance: distance)
            case 0...10: Self(result: .inSync, distance: distance)
            case 11...19: Self(result: .signatureRecommended, distance: distance, repairs: [true])
            // The last chance was taken in vain, which brought the client one step further ahead.
            case 20: Self(result: .deadlock, distance: 21, repairs: [false], error: .deadlock)
            default: Self(result: .deadlock, distance: distance, error: .deadlock)
            }
        }
    }

    @Test(arguments: ProtocolVersion.version3, -25...25) func aStatusAndTheSignatureAfterItAgree(
        version: ProtocolVersion,
        distance: Int
    ) async throws {
        try await withDevice(version: version, distance: distance) { emulator, activation, _ in
            let expected = Expectation.afterAStatus(distance: distance)
            var position = await emulator.journalPosition
            let found = try await activation.status().counter
            let repairs = await emulator.signedRequests(of: activation, since: position).map(\.isAccepted)
            position = await emulator.journalPosition
            let error = try await errorCode { try await activation.validate(.twoFactors) }
            #expect(
                Expectation(result: found.result, distance: found.distance, repairs: repairs, error: error) == expected
            )
            #expect(found.canSign == (error == nil))
            let signed = await emulator.signedRequests(of: activation, since: position)
            #expect(signed.map(\.isAccepted) == (error == nil ? [true] : []))
            if error == nil { #expect(try await activation.status().counter.distance == 0) }
            // Asking and signing once more change nothing.
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == error)
            #expect(try await activation.status().counter.canSign == (error == nil))
            #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
        }
    }

    @Test(arguments: ProtocolVersion.version3, -25...25) func aSignatureThatComesFirstPutsTheCountersRight(
        version: ProtocolVersion,
        distance: Int
    ) async throws {
        try await withDevice(version: version, distance: distance) { emulator, activation, observer in
            let position = await emulator.journalPosition
            let error = try await errorCode { try await activation.validate(.twoFactors) }
            let journal = await emulator.journal(since: position)
            let (refused, accepted) = (false, true)
            switch distance {
            case -25 ... -21:
                #expect(error == .stateRolledBack)
                #expect(journal.calls == ["validate", "status"])
                #expect(observer.retries == [])
                #expect(try await activation.status().counter.result == .rolledBack)
            case -20 ... -1:
                // The refused signature has brought the client one step closer.
                #expect(error == nil)
                #expect(journal.calls == ["validate", "status", "validate"])
                #expect(journal.map(\.isAccepted) == [refused, accepted, accepted])
                #expect(observer.distances == [distance + 1])
                #expect(observer.retries == [.counterMoved])
            case 0:
                #expect(error == nil)
                #expect(journal.calls == ["validate"])
            case 1...10:
                // Signatures that nobody confirmed went before, so the status is asked for.
                #expect(error == nil)
                #expect(journal.calls == ["status", "validate"])
            case 11...19:
                #expect(error == nil)
                #expect(journal.calls == ["status", "validate", "validate"])
            case 20:
                #expect(error == .deadlock)
                #expect(journal.calls == ["status", "validate", "status"])
                #expect(journal.map(\.isAccepted) == [accepted, refused, accepted])
            default:
                #expect(error == .deadlock)
                #expect(journal.calls == ["status"])
            }
            if error == nil {
                #expect(try await activation.status().counter.distance == 0)
                #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
            }
        }
    }

    /// The process stood still before it looked at its own counter, or the response was slow, while others signed.
    @Test(arguments: ProtocolVersion.version3) func anOldReportSaysNothingOfACounterThatHasMovedSince(
        version: ProtocolVersion
    ) async throws {
        let action = Shared<(@Sendable () async throws -> Void)?>(nil)
        try await withDevice(version: version, distance: 0, afterStatus: action) { emulator, activation, observer in
            let factor = try await activation.unlockKnowledge(password: password)
            action.value = {
                for _ in 0..<25 { try await activation.validate(.possessionAndKnowledge(unlocked: factor)) }
            }
            let status = try await activation.status()
            #expect(status.counter.result == .inSync)
            #expect(observer.distances == [0])
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == nil)
        }
    }

    @Test func requestsThatNeverArriveLetTheClientRunAheadAndTheStatusBeforeEachKeepsItInReach() async throws {
        let isLosing = Shared(true)
        try await withDevice(version: .v3_3, distance: 0, isLosing: isLosing) { emulator, activation, observer in
            for _ in 1...15 {
                #expect(try await errorCode { try await activation.validate(.possession) } == .connectionLost)
            }
            #expect(observer.distances == Array(1...14))
            isLosing.value = false
            try await activation.validate(.twoFactors)
            #expect(await emulator.signedRequests(of: activation).refusals == [])
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    /// An activation whose client is so far ahead of the server, or behind it.
    private func withDevice(
        version: ProtocolVersion,
        distance: Int,
        isLosing: Shared<Bool> = Shared(false),
        afterStatus action: Shared<(@Sendable () async throws -> Void)?> = Shared(nil),
        _ body: (Emulator, Activation, RecordingObserver) async throws -> Void
    ) async throws {
        try await withEmulator { emulator in
            let observer = RecordingObserver()
            let client = try emulator.makeClient {
                $0.version = version
                $0.observer = observer
                $0.transport = try InterceptingTransport { request, deliver in
                    guard !isLosing.value || !request.isSigned else { throw HTTPTransportError(.connectionLost) }
                    let response = try await deliver(request)
                    if request.url.hasSuffix("/activation/status"), let action = action.update({ $0.take() }) {
                        try await action()
                    }
                    return response
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let factor = try await activation.unlockKnowledge(password: password)
            for _ in 0..<max(0, distance) {
                // Made for a person to carry to the server, who never does.
                _ = try await activation.offlineSignature(
                    data: [],
                    nonce: [UInt8](repeating: 0, count: 16),
                    uriID: "/operation/authorize/offline",
                    with: .possessionAndKnowledge(unlocked: factor)
                )
            }
            if distance < 0 {
                try await emulator.advanceCounter(ofActivation: activation.activationID, by: UInt64(-distance))
            }
            try await body(emulator, activation, observer)
        }
    }
}
