import DecisionReceipts
import HTTPClientTransport
import MobileToken
import MobileTokenObserving
import MobileTokenTesting
import Testing
import TestSupport

/// The faults of a server while its operations are polled.
@Suite(.timeLimit(.minutes(5))) struct FailingServerTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let effect: FaultRule.Effect
        let code: MobileTokenError.Code
        /// The wait before the next poll: the interval unless the server asks for more.
        var wait: Duration = .seconds(7)
        /// The longest time for a request; only one that never ends is given up early.
        var timeout: Duration?

        init(
            _ name: String,
            _ effect: FaultRule.Effect,
            _ code: MobileTokenError.Code,
            wait: Duration = .seconds(7),
            timeout: Duration? = nil
        ) {
            self.testDescription = name
            self.effect = effect
            self.code = code
            self.wait = wait
            self.timeout = timeout
        }
    }

    static let faults = [
        Fault("500", .init(status: 500), .serverError),
        // A twentieth is added, so that clients that were turned away together do not come back together.
        Fault("503 with Retry-After", .init(status: 503, retryAfter: 60), .serverError, wait: .seconds(63)),
        Fault("502 from a proxy", .init(status: 502, body: .garbage, contentType: "text/html"), .httpStatus),
        Fault("garbage", .init(body: .garbage), .invalidResponse),
        Fault("half a body", .init(body: .truncated), .connectionLost),
        Fault("a body without end", .init(drip: 1), .timeout, timeout: .milliseconds(200)),
        Fault(
            "another content type, and what goes with it",
            .init(body: .garbage, contentType: "text/html"),
            .invalidResponse
        ),
        Fault("reset before the change", .init(reset: .before), .connectionLost),
        Fault("reset after the change", .init(reset: .after), .connectionLost),
        Fault("401 for every token", .init(status: 401), .serverError),
    ]

    @Test(arguments: Self.faults)
    func pollingGoesOnAndTheListStays(fault: Fault) async throws {
        try await withEmulator { emulator in
            let timeout = Shared<Duration?>(nil)
            let client = try emulator.makeClient {
                $0.transport = try InterceptingTransport { request, deliver in
                    try await deliver(altered(request) { $0.timeout = timeout.value })
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let known = try await emulator.cloud.createOperation("login", userID: "alice")
            let poll = Poll(of: activation)
            #expect(await poll.nextWait() == .seconds(7))
            #expect(await poll.nextOutcome() == .list([known.id]))

            timeout.value = fault.timeout
            await emulator.faults.set([FaultRule(match: .init(path: "**/operation/list"), effect: fault.effect)])
            poll.clock.advanceToNextDeadline()
            #expect(await poll.nextWait() == fault.wait)
            #expect(await poll.nextOutcome() == .failure(fault.code))
            #expect(poll.service.list.operations.map(\.id) == [known.id])

            timeout.value = nil
            await emulator.faults.removeAll()
            let new = try await emulator.cloud.createOperation("login", userID: "alice")
            poll.clock.advanceToNextDeadline()
            #expect(await poll.nextWait() == .seconds(7))
            #expect(await poll.nextOutcome() == .list([new.id, known.id]))
            await poll.stop()
        }
    }

    @Test func aTrueListUnderAnotherContentTypeIsRead() async throws {
        try await withEmulator { emulator in
            let service = OperationsService(
                activation: try await emulator.makeActivation(user: "alice", password: password)
            )
            await emulator.faults.set([FaultRule(effect: .init(contentType: "text/plain"))])
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await service.operations().map(\.id) == [operation.id])
        }
    }

    @Test func pollingOutlivesAServerThatGoesAndComesBack() async throws {
        let first = try await Self.startOnQuietPort()
        let activation = try await first.makeActivation(user: "alice", password: password)
        let known = try await first.cloud.createOperation("login", userID: "alice")
        let poll = Poll(of: activation)
        #expect(await poll.nextWait() == .seconds(7))
        #expect(await poll.nextOutcome() == .list([known.id]))

        var configuration = Emulator.Configuration()
        configuration.initialState = try await first.exported()
        configuration.port = first.port
        await first.stop()
        for wait: Duration in [
            .seconds(7), .seconds(7), .seconds(7), .milliseconds(12_800), .milliseconds(25_600), .seconds(30),
        ] {
            poll.clock.advanceToNextDeadline()
            #expect(await poll.nextWait() == wait)
            let outcome = await poll.nextOutcome()
            #expect(outcome == .failure(.noConnection) || outcome == .failure(.connectionLost))
        }
        #expect(poll.service.list.operations.map(\.id) == [known.id])

        try await withEmulator(configuration) { second in
            let new = try await second.cloud.createOperation("login", userID: "alice")
            poll.clock.advanceToNextDeadline()
            #expect(await poll.nextWait() == .seconds(7))
            #expect(await poll.nextOutcome() == .list([new.id, known.id]))
        }
        await poll.stop()
    }

    /// Starts a server on a port that the system hands out to nobody, so that it is still free when the server is back.
    private static func startOnQuietPort() async throws -> Emulator {
        var configuration = Emulator.Configuration()
        for _ in 0..<20 {
            configuration.port = .random(in: 20_000..<32_000)
            if let emulator = try? await Emulator.start(configuration: configuration) { return emulator }
        }
        return try await Emulator.start(configuration: configuration)
    }
}

/// An approval whose request or answer is lost on the way.
@Suite(.timeLimit(.minutes(5))) struct LostApprovalTests {
    @Test func anApprovalWithoutAnswerIsAskedForAndDoneOnce() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            let service = OperationsService(activation: activation)
            let operation = try await emulator.offer("payment", to: "alice", on: service)
            await emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/authorize", first: 1), effect: .lostAnswer)
            ])

            let start = await emulator.journalPosition
            #expect(try await service.authorize(operation, with: .twoFactors) == .inferred)
            #expect(try await emulator.status(of: operation) == .approved)
            // One look at the operation, by the history: a detail does not tell the verdict.
            let calls = await emulator.journal(since: start).calls
            #expect(calls.filter { ["authorize", "detail", "history"].contains($0) } == ["authorize", "history"])

            let position = await emulator.journalPosition
            let again = try await errorCode { try await service.authorize(operation, with: .twoFactors) }
            #expect(again == .operationAlreadyFinished)
            // The status after it tells whether the refusal is of this signature, or of a second copy of it; the history, whose
            // signature needs a status of its own, tells how the operation ended.
            #expect(await emulator.journal(since: position).calls == ["authorize", "status", "status", "history"])
            #expect(try await service.operations() == [])
            #expect(await emulator.requests(to: "**/operation/authorize").accepted.count == 1)
            let signed = await emulator.signedRequests(of: activation)
            #expect(signed.areConsecutive)
        }
    }

    @Test func aRejectionThatNeverArrivedIsMadeWorthlessAndCanBeRepeated() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            let service = OperationsService(activation: activation)
            let operation = try await emulator.offer("payment", to: "alice", on: service)
            await emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/cancel", first: 1), effect: .lostRequest)
            ])

            #expect(try await errorCode { try await service.reject(operation) } == .outcomeUnknown)
            #expect(try await emulator.status(of: operation) == .pending)
            #expect(try await activation.status().counter.distance == 1)

            let position = await emulator.journalPosition
            try await service.reject(operation)
            let calls = await emulator.journal(since: position).calls
            #expect(calls == ["detail", "status", "status", "validate", "cancel"])
            #expect(try await emulator.status(of: operation) == .rejected)
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    @Test func anActivationWhoseAnswerWasLostLeavesNothingBehind() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            await emulator.faults.set([
                FaultRule(match: .init(path: "**/activation/create", first: 1), effect: .lostAnswer)
            ])
            await #expect(throws: MobileTokenError.self) {
                try await emulator.makeActivation(user: "alice", password: password, client: client)
            }
            #expect(try await client.activations().isEmpty)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await activation.validate(.twoFactors)
        }
    }
}

/// Polling under a manual clock.
private struct Poll {
    enum Outcome: Equatable {
        case list([String])
        case failure(MobileTokenError.Code)
    }

    let clock = ManualClock()
    let service: OperationsService
    private let task: Task<Void, any Error>

    init(of activation: Activation) {
        var configuration = OperationsService.Configuration()
        configuration.clock = self.clock
        configuration.random = { 0.5 }
        let service = OperationsService(activation: activation, configuration: configuration)
        self.service = service
        self.task = Task { try await service.poll() }
    }

    /// Waits until a poll is over; tells how long the next one is away.
    func nextWait() async -> Duration? { await self.clock.nextSleep() }

    func nextOutcome() async -> Outcome? {
        switch self.service.lastFetchResult {
        case .success(let list): .list(list.operations.map(\.id))
        case .failure(let error): .failure(error.code)
        case nil: nil
        }
    }

    func stop() async {
        self.task.cancel()
        _ = await self.task.result
    }
}
