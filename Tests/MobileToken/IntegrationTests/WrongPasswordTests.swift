import MobileToken
import MobileTokenObserving
import MobileTokenTesting
import Testing

/// A password that only the server can tell from the right one.
@Suite(.timeLimit(.minutes(5))) struct WrongPasswordTests {
    @Test func eachOneTakesAnAttemptAndTheFifthBlocks() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            for remaining in [4, 3, 2, 1] {
                let error = try await #require(throws: MobileTokenError.self) {
                    try await activation.validate(.possessionAndKnowledge(password: "wrong"))
                }
                #expect(error.code == .authenticationFailed)
                #expect(error.remainingAttempts == remaining)
                #expect(error.httpStatus == 401)
                // Possession proves nothing about the person: neither a success nor a failure.
                try await activation.validate(.possession)
            }
            let last = try await #require(throws: MobileTokenError.self) {
                try await activation.validate(.possessionAndKnowledge(password: "wrong"))
            }
            #expect(last.code == .activationBlocked)
            #expect(last.remainingAttempts == 0)
            #expect(try await activation.status().state == .blocked)
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == .activationBlocked)

            try await emulator.unblockActivation(activation.activationID)
            try await activation.validate(.twoFactors)
            let status = try await activation.status()
            #expect(status.state == .active)
            #expect(status.counter.distance == 0)
        }
    }

    @Test func aPossessionSignatureThatIsRefusedDoesNotCount() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: 30)
            for _ in 1...6 {
                #expect(try await errorCode { try await activation.validate(.possession) } == .stateRolledBack)
            }
            #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
            #expect(try await activation.status().state == .active)
        }
    }
}
