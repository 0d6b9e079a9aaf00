import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct EmulatorTestKitTests {
    @Test func anActivationIsReadyToSign() async throws {
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", name: "bot")
            let known = try #require(await emulator.activations().first)
            #expect(known.id == activation.activationID)
            #expect(known.status == .active)
            #expect(known.name == "bot")
            #expect(await emulator.refusals() == [])
        }
    }

    @Test func theJournalIsSearchedAndAwaited() async throws {
        try await withEmulator { emulator async throws in
            async let awaited = emulator.nextRequest(to: "/v2/operations")
            try await emulator.cloud.register(userID: "alice")
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(await awaited?.path == "/v2/operations")
            #expect(await emulator.requests(to: "/v2/*").map(\.method) == ["POST", "POST"])
            await #expect(throws: CloudError.self) { try await emulator.cloud.createOperation("none", userID: nil) }
            let refusals = await emulator.refusals(of: "/v2/operations")
            #expect(refusals.count == 1)
            let line = try #require(await emulator.reasons(areLinked: true).first)
            #expect(line.hasPrefix("Refused: POST /v2/operations: 400, \(refusals.first ?? "none"); see http://"))
            #expect(await emulator.reasons(areLinked: false).allSatisfy { !$0.contains("http") })
        }
    }

    @Test func aDecisionThatDoesNotComeIsAwaitedAsLongAsTheTestSays() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.cloud.register(userID: "alice")
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(await emulator.decision(on: login.id, within: .milliseconds(1))?.status == .pending)
            try await emulator.cloud.cancelOperation(login.id)
            #expect(await emulator.decision(on: login.id, within: .seconds(60))?.status == .canceled)
        }
    }

    @Test func aFaultLastsAsLongAsItsScope() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.withFault(.unavailable(retryAfter: 5), on: "/v2/**") {
                await #expect(throws: CloudError.self) { try await emulator.cloud.register(userID: "alice") }
            }
            #expect(await emulator.faults.rules.isEmpty)
            try await emulator.cloud.register(userID: "alice")
        }
    }

    @Test func testsThatShareAServerDoNotMeet() async throws {
        let ports = try await withThrowingTaskGroup { group in
            for number in 1...8 {
                group.addTask {
                    try await withSpace(named: "test \(number)") { space in
                        let now = Date(timeIntervalSince1970: 1_000_000_000 * Double(number))
                        await space.clock.freeze(at: now)
                        let activation = try await space.makeActivation(user: "alice", password: "1234")
                        for _ in 0..<number { try await space.cloud.createOperation("login", userID: "alice") }
                        #expect(await space.activations().map(\.id) == [activation.activationID])
                        #expect(await space.operations().count == number)
                        #expect(await space.clock.now == now)
                        #expect(await space.refusals() == [])
                        return space.port
                    }
                }
            }
            return try await group.reduce(into: Set<UInt16>()) { $0.insert($1) }
        }
        #expect(ports.count == 1)
    }

    @Test func aSpaceIsRemovedWhenTheBodyThrows() async throws {
        try await withEmulator { emulator async throws in
            await #expect(throws: CancellationError.self) {
                try await emulator.withSpace(seed: 1) { space in
                    #expect(emulator.spaces().map(\.id) == [space.spaceID])
                    throw CancellationError()
                }
            }
            #expect(emulator.spaces() == [])
        }
    }

    @Test func whatTheBodyThrowsIsTheFailureOfItsSpace() async throws {
        try await withEmulator(altered(.init()) { $0.keepsFailedSpaces = true }) { emulator async throws in
            try await emulator.withSpace(named: "passed") { _ in }
            await #expect(throws: CancellationError.self) {
                try await emulator.withSpace(named: "failed", from: .scenario(Data("{}".utf8))) { _ in
                    throw CancellationError()
                }
            }
            #expect(emulator.spaces().map(\.name) == ["failed"])
            #expect(emulator.spaces().first?.failure == "CancellationError()")
            // A failed expectation throws nothing.
            try await emulator.withSpace { space in
                try await space.makeDevice(userID: "alice", rule: .init(.never))
                try await space.cloud.createOperation("payment", userID: "alice")
                await space.faults.add(FaultRule(match: .init(path: "/v2/operation"), effect: .lostRequest))
                Emulator.noteIssue("so")
                let reasons = await space.reasons(areLinked: false)
                #expect(reasons[0].hasPrefix("Pending: authorize_payment of alice: no rule decides it; "), "\(reasons)")
                #expect(reasons.dropFirst() == ["No request has met the fault rule on /v2/operation"])
            }
            let noted = emulator.spaces().first { $0.failure == "so" }
            #expect(noted?.name == "whatTheBodyThrowsIsTheFailureOfItsSpace()")
        }
    }

    @Test func theServerStopsWhenTheBodyThrows() async throws {
        struct Failure: Error {}
        var events: AsyncStream<Emulator.Event>?
        await #expect(throws: Failure.self) {
            try await withEmulator { emulator async throws in
                events = emulator.events()
                throw Failure()
            }
        }
        for await _ in try #require(events) {}  // ends with the server
    }
}
