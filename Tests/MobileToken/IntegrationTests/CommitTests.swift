import MobileToken
import MobileTokenTesting
import Testing

/// Waiting for a bank that takes its time with the last step of an activation.
@Suite(.timeLimit(.minutes(5))) struct CommitTests {
    private let clock = ManualClock()

    private func activate(_ emulator: Emulator) async throws -> (activation: Activation, id: String) {
        let client = try emulator.makeClient { $0.clock = self.clock }
        let registration = try await emulator.cloud.register(userID: "alice")
        let activation = try await client.activate(code: registration.activationQRCode, password: password)
        return (activation, registration.id)
    }

    @Test func itAsksUntilTheServerHasCommitted() async throws {
        try await withEmulator { emulator in
            let (activation, id) = try await self.activate(emulator)
            let waiting = Task {
                try await activation.waitUntilCommitted(within: .seconds(600), askingEvery: .seconds(30))
            }
            await self.clock.waitForSleepers(2)
            self.clock.advance(by: .seconds(30))
            await self.clock.waitForSleepers(2)
            try await emulator.cloud.commitRegistration(id)
            self.clock.advance(by: .seconds(30))
            #expect(try await waiting.value.state == .active)
            #expect(self.clock.sleeperCount == 0)
        }
    }

    @Test func theDeadlineNamesWhatWentWrongMeanwhile() async throws {
        try await withEmulator { emulator in
            let (activation, _) = try await self.activate(emulator)
            try await emulator.withFault(.unavailable(retryAfter: 86_400)) {
                let waiting = Task { try await activation.waitUntilCommitted(within: .seconds(960)) }
                await self.clock.waitForSleepers(2)
                // The server's wish is heeded for a quarter of an hour; then only the deadline is that near.
                #expect(self.clock.timeToNextDeadline == .seconds(900))
                self.clock.advance(by: .seconds(900))
                await self.clock.waitForSleepers(2)
                #expect(self.clock.timeToNextDeadline == .seconds(60))
                self.clock.advance(by: .seconds(60))
                let error = try await #require(throws: MobileTokenError.self) { try await waiting.value }
                #expect(error.code == .deadlinePassed)
                #expect((error.underlying as? MobileTokenError)?.httpStatus == 503)
            }
        }
    }

    /// The request is taken off the wire when the time is up.
    @Test func aServerThatNeverAnswersIsWaitedForNoLonger() async throws {
        try await withEmulator { emulator in
            let (activation, _) = try await self.activate(emulator)
            await emulator.faults.set([FaultRule(match: .init(path: "**/status"), effect: .init(hold: 3_600))])
            await emulator.clock.freeze()
            let waiting = Task { try await activation.waitUntilCommitted(within: .seconds(10)) }
            await self.clock.waitForSleepers(1)
            self.clock.advance(by: .seconds(10))
            let error = try await #require(throws: MobileTokenError.self) { try await waiting.value }
            #expect(error.code == .deadlinePassed && error.underlying == nil)
        }
    }

    @Test func anActivationThatIsRemovedIsNotWaitedFor() async throws {
        try await withEmulator { emulator in
            let (activation, id) = try await self.activate(emulator)
            try await emulator.removeActivation(id)
            #expect(
                try await errorCode { try await activation.waitUntilCommitted(within: .seconds(60)) }
                    == .activationRemoved
            )
        }
    }
}
