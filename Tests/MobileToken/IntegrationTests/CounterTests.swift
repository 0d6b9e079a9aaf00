import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Counters that are apart, by every distance around the window of 20, and how they come together again.
@Suite(.timeLimit(.minutes(5))) struct CounterTests {
    /// The results for a client that asks for the status first, and then signs.
    private struct Expectation: Equatable {
        var result: CounterComparison.Result
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
                #expect(journal.calls == ["validate", "status", "validate", "status"])
                #expect(journal.map(\.isAccepted) == [refused, accepted, accepted, accepted])
                #expect(observer.distances == [distance + 1, 0])
                #expect(observer.retries == [.counterMoved])
            case 0:
                #expect(error == nil)
                // The status proves that the signature counted.
                #expect(journal.calls == ["validate", "status"])
            case 1...10:
                // Signatures that nobody confirmed went before, so the status is asked for.
                #expect(error == nil)
                #expect(journal.calls == ["status", "validate", "status"])
            case 11...19:
                #expect(error == nil)
                #expect(journal.calls == ["status", "validate", "validate", "status"])
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
            // Each validation is proved by a status of its own.
            #expect(observer.distances.allSatisfy { $0 == 0 })
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == nil)
        }
    }

    /// The line is cut, or something removes the header: after ten signatures nothing is signed by itself, so that the counters can
    /// meet again.
    @Test(arguments: [false, true]) func signaturesThatAreLostLeaveTheActivationAlive(isStripping: Bool) async throws {
        let isLosing = Shared(true)
        try await withDevice(version: .v3_3, distance: 0, isLosing: isLosing, isStripping: isStripping) {
            emulator,
            activation,
            observer in
            let lost: MobileTokenError.Code = isStripping ? .refusalUnproven : .connectionLost
            for count in 1...25 {
                let code = try await errorCode {
                    try await activation.validate(count.isMultiple(of: 2) ? .twoFactors : .possession)
                }
                #expect(code == (count <= 10 ? lost : .signaturesAreLost))
            }
            let status = try await activation.status()
            #expect(status.counter.distance == 10)
            #expect(status.lostSignatures == 10)
            #expect(status.failedAttempts == 0)

            // One more, by who knows what they do.
            if isStripping {
                #expect(try await activation.tryCounter().lostSignatures == 11)
            } else {
                #expect(try await errorCode { try await activation.tryCounter() } == .connectionLost)
            }
            #expect(try await activation.status().counter.distance == 11)
            isLosing.value = false
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == .signaturesAreLost)
            #expect(try await activation.tryCounter().lostSignatures == 0)
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == nil)
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    /// An agent's trials leave the last three values to people.
    @Test func noTrialSpendsTheLastThree() async throws {
        let isLosing = Shared(true)
        try await withDevice(version: .v3_3, distance: 0, isLosing: isLosing) { _, activation, _ in
            for _ in 1...10 { _ = try await errorCode { try await activation.validate(.possession) } }
            for _ in 1...20 { _ = try await errorCode { try await activation.tryLostCounter() } }
            #expect(try await activation.status().counter.distance == 17)
            isLosing.value = false
            #expect(try await activation.tryCounter().lostSignatures == 0)
            // Nothing is spent as long as nothing is lost.
            #expect(try await activation.tryLostCounter().counter.distance == 0)
        }
    }

    /// An activation whose client is so far ahead of the server, or behind it.
    private func withDevice(
        version: ProtocolVersion,
        distance: Int,
        isLosing: Shared<Bool> = Shared(false),
        isStripping: Bool = false,
        afterStatus action: Shared<(@Sendable () async throws -> Void)?> = Shared(nil),
        _ body: (Emulator, Activation, RecordingObserver) async throws -> Void
    ) async throws {
        try await withEmulator { emulator in
            let observer = RecordingObserver()
            let client = try emulator.makeClient {
                $0.version = version
                $0.observer = observer
                $0.transport = try InterceptingTransport { request, deliver in
                    var request = request
                    if isLosing.value, request.isSigned {
                        guard isStripping else { throw HTTPTransportError(.connectionLost) }
                        request.headers["X-PowerAuth-Authorization"] = nil
                    }
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
