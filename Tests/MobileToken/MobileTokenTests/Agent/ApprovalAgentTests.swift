import Coordination
import Dispatch
import ExactJSON
import Foundation
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

@testable import MobileToken

/// An agent at a scripted activation and on a manual clock. What it does with a real server's counter is among the
/// integration tests.
@Suite(.timeLimit(.minutes(5))) struct ApprovalAgentTests {
    private let clock = ManualClock()
    private let channel: ScriptedChannel
    /// The clock may go on for long before an agent comes to its turn, and no operation may expire meanwhile.
    private let listed = Shared<[JSONValue]>([.sampleOperation("1", data: "A2", expiresIn: 1_000_000)])
    /// The operations that the server was asked to decide.
    private let decided = Shared<[String]>([])
    private let failures = Shared<[MobileTokenError]>([])

    init() {
        let (listed, decided, failures) = (self.listed, self.decided, self.failures)
        self.channel = ScriptedChannel { request in
            switch request.path.split(separator: "/").last {
            case "list": return SampleAnswer.list(listed.value)
            case "authorize", "cancel":
                let id = request.json?["requestObject"]?["id"]?.string ?? ""
                decided.update { $0.append("\(request.path.hasSuffix("cancel") ? "reject" : "approve") \(id)") }
                if let failure = failures.update({ $0.isEmpty ? nil : $0.removeFirst() }) { throw failure }
                return SampleAnswer.ok
            default: return SampleAnswer.ok
            }
        }
    }

    private func makeService() -> OperationsService {
        OperationsService(activation: self.channel, configuration: .even(self.clock))
    }

    private func makeAgent(
        _ configure: (inout ApprovalAgent.Configuration) -> Void = { _ in },
        factors: @escaping @Sendable () async throws -> Activation.Authentication = {
            .possessionAndKnowledge(password: "1234")
        },
        policy: @escaping ApprovalAgent.Policy
    ) throws -> ApprovalAgent {
        var configuration = ApprovalAgent.Configuration()
        configuration.random = { 0 }
        configuration.factorLifetime = .zero
        configure(&configuration)
        return try ApprovalAgent(
            operations: self.makeService(),
            factors: factors,
            configuration: configuration,
            policy: policy
        )
    }

    /// Runs an agent while `body` reads its events.
    private func run(
        _ agent: ApprovalAgent,
        _ body: (inout AsyncStream<ApprovalAgent.Event>.Iterator) async throws -> Void
    ) async throws {
        var events = agent.events().makeAsyncIterator()
        let task = Task { try await agent.run() }
        try await body(&events)
        try await task.stop()
    }

    /// Waits for an event whose description ends so.
    private func expect(_ suffix: String, in events: inout AsyncStream<ApprovalAgent.Event>.Iterator) async {
        while let event = await events.next(isolation: #isolation) {
            if event.description.hasSuffix(suffix) { return }
        }
        Issue.record("no event ends with \(suffix)")
    }

    /// Lets time pass while a condition holds.
    private func pass(while condition: () async -> Bool) async {
        while await condition() {
            await self.clock.waitForSleepers(1)
            self.clock.advanceToNextDeadline()
            await Task.yield()
        }
    }

    // MARK: Deciding

    @Test func verdictsAreCarriedOutInOrder() async throws {
        self.listed.value = ["3", "2", "1"].map { .sampleOperation($0, data: "A2") }
        let agent = try self.makeAgent { review in
            switch review.operation.id {
            case "1": .approve
            case "2": .reject(.incorrectData)
            default: .deferToPeople(reason: "no\nrule")
            }
        }
        try await self.run(agent) { events in
            await self.expect("3f2c0d1e payment 3: left: no\\nrule", in: &events)
            #expect(self.decided.value == ["approve 1", "reject 2"])
        }
    }

    /// A late reader begins with the operations that are left now, and not with those that were left and are gone.
    @Test func aReaderBeginsWithWhatIsLeftNow() async throws {
        self.listed.value = ["4", "3", "2", "1"].map {
            .sampleOperation($0, data: $0 == "3" ? "A1*A100CZK" : "A2", expiresIn: 1_000_000)
        }
        let agent = try self.makeAgent { review in
            review.operation.id == "2" ? .approve : .deferToPeople(reason: "not ours")
        }
        try await self.run(agent) { events in
            await self.expect("payment 4: left: not ours", in: &events)
            var late = agent.events().makeAsyncIterator()
            var left: [String] = []
            for _ in 0..<3 { left.append(await late.next()?.kind.description ?? "end") }
            #expect(left == ["left: not ours", "left: incomplete: amountNotShown: 100 CZK", "left: not ours"])

            self.listed.value = [.sampleOperation("1", data: "A2", expiresIn: 1_000_000)]
            await self.pass { agent.health.leftOperationCount > 1 }
            var last = agent.events().makeAsyncIterator()
            #expect(await last.next()?.operation?.id == "1")
        }
        // The run is over, and with it every reading.
        for await event in agent.events() { #expect(event.operation?.id != "4") }
    }

    /// DEFECTS3, 6.
    @Test func whatCannotBeReadAnyMoreIsToldSoAndIsNotGone() async throws {
        let agent = try self.makeAgent { _ in .askAgain(after: .seconds(500_000)) }
        try await self.run(agent) { events in
            await self.expect("payment 1: judged: later (500000.0 seconds)", in: &events)
            self.listed.value = self.listed.value.map { $0.with("operationExpires", "2027-01-01T00:00:00") }
            await self.pass { agent.health.fleet.unreadable == 0 }
            var kinds: [String] = []
            while let event = await events.next(isolation: #isolation) {
                kinds.append(event.kind.description)
                if case .unreadable(let operation) = event.kind {
                    #expect(operation.id == "1" && operation.issue.path == "responseObject[0].operationExpires")
                    break
                }
            }
            #expect(!kinds.contains { $0.hasPrefix("gone") }, "\(kinds)")
        }
    }

    @Test func aPolicyThatTakesTooLongIsCanceledAndTheOthersGoOn() async throws {
        self.listed.value = ["2", "1"].map { .sampleOperation($0, data: "A2", expiresIn: 1_000_000) }
        let wasCanceled = Shared(false)
        let agent = try self.makeAgent { review in
            if review.operation.id == "1" {
                await waitForCancellation()
                wasCanceled.value = true
            }
            return .approve
        }
        try await self.run(agent) { events in
            while self.clock.timeToNextDeadline != .seconds(7) { await Task.yield() }
            while agent.health.leftOperationCount == 0 {
                self.clock.advanceToNextDeadline()
                await self.clock.waitForSleepers(1)
            }
            await self.expect("payment 1: left: the policy took too long", in: &events)
            await self.expect("payment 2: decided: approve", in: &events)
            #expect(self.decided.value == ["approve 2"])
            await until { wasCanceled.value }
        }
    }

    @Test func passingTroubleIsTriedAgain() async throws {
        self.failures.value = [MobileTokenError(.noConnection, "")]
        let agent = try self.makeAgent { _ in .approve }
        try await self.run(agent) { events in
            await self.expect("again after 1.6 seconds: noConnection: ", in: &events)
            #expect(agent.health.fleet.lastFailure?.error.code == .noConnection)
            #expect(agent.health.fleet.lastFailure?.isOver == false)
            await self.pass { self.decided.value.count < 2 }
            await self.expect("payment 1: decided: approve", in: &events)
            self.clock.advanceToNextDeadline()
            await until { agent.health.fleet.lastFailure?.isOver == true }
        }
    }

    // MARK: Factors

    @Test func factorsAreUnlockedOnceAndWipedWhenTheirTimeIsOver() async throws {
        let unlocked = Shared(0)
        let agent = try self.makeAgent {
            $0.factorLifetime = .seconds(60)
        } factors: {
            unlocked.update { $0 += 1 }
            return .possessionAndKnowledge(password: "1234")
        } policy: { _ in
            .approve
        }
        self.listed.value = ["2", "1"].map { .sampleOperation($0, data: "A2") }
        try await self.run(agent) { events in
            await self.expect("payment 2: decided: approve", in: &events)
            #expect(unlocked.value == 1)
            #expect(await agent.keptFactorCount == 1)
            await self.pass { await agent.keptFactorCount > 0 }
            #expect(self.clock.now.duration(to: ManualClock().now) <= .seconds(-60))
        }
    }

    /// Nobody but the agent is in the way, so there is nothing to wait for. Newly unlocked factors that are outdated are trouble.
    @Test(arguments: [1, 2]) func outdatedFactorsAreUnlockedAnewAtOnce(times: Int) async throws {
        let unlocked = Shared(0)
        let agent = try self.makeAgent {
            $0.factorLifetime = .seconds(60)
        } factors: {
            unlocked.update { $0 += 1 }
            return .possessionAndKnowledge(password: "1234")
        } policy: { _ in
            .approve
        }
        self.failures.value = Array(repeating: MobileTokenError(.factorOutdated, ""), count: times)
        try await self.run(agent) { events in
            let end = times == 1 ? "payment 1: decided: approve" : "again after 1.6 seconds: factorOutdated: "
            await self.expect(end, in: &events)
            #expect(self.decided.value == ["approve 1", "approve 1"])
            #expect(unlocked.value == 2)
            #expect(await agent.keptFactorCount == (times == 1 ? 1 : 0))
        }
    }

    @Test func factorsThatCannotBeHadAreAskedForAgain() async throws {
        struct VaultIsSealed: Error {}
        let attempts = Shared(0)
        let agent = try self.makeAgent(factors: {
            if attempts.update({
                $0 += 1; return $0
            }) == 1 {
                throw VaultIsSealed()
            }
            return .possessionAndKnowledge(password: "1234")
        }) { _ in
            .approve
        }
        try await self.run(agent) { events in
            await self.expect("caused by VaultIsSealed", in: &events)
            await self.pass { self.decided.value.isEmpty }
            await self.expect("payment 1: decided: approve", in: &events)
        }
    }

    /// While somebody may decide, the activation is given to no other process.
    @Test func factorsThatDoNotComeHoldNothingForLongerThanAPolicyMay() async throws {
        let (attempts, end) = (Shared(0), Signal())
        let agent = try self.makeAgent(factors: {
            let attempt = attempts.update { count in
                count += 1
                return count
            }
            if attempt == 1 { await shielded { _ = await end.wait() } }
            return .possessionAndKnowledge(password: "1234")
        }) { _ in
            .approve
        }
        try await self.run(agent) { events in
            await self.pass { self.decided.value.isEmpty }
            await self.expect("The factors of the activation were not had in 30.0 seconds", in: &events)
            await self.expect("payment 1: decided: approve", in: &events)
        }
        end.raise()
    }

    @Test func whatPossessionAloneDecidesUnlocksNothing() async throws {
        self.listed.value = [.sampleOperation("1", data: "A2", variants: ["possession"])]
        let agent = try self.makeAgent(factors: {
            Issue.record("unlocked")
            return .possession
        }) { _ in
            .approve
        }
        try await self.run(agent) { events in
            await self.expect("payment 1: decided: approve", in: &events)
        }
    }

    // MARK: Life

    /// Without evidence, an agent could not find out what became of its decisions, and would not say so.
    @Test func anActivationWithoutEvidenceIsRefusedByName() {
        let service = OperationsService(activation: ScriptedChannel(evidence: nil))
        let error = #expect(throws: MobileTokenError.self) {
            try ApprovalAgent(operations: service, factors: { .possession }) { _ in .deferToPeople }
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.hasPrefix("The activation gives no `evidence`") == true)
    }

    /// Once set, an alarm for the end of all time would be the next one whenever nothing else waits.
    @Test func receiptsThatAreBeingReadSetNoAlarm() async throws {
        let evidence = ScriptedEvidence()
        let (isReading, mayGoOn) = (Shared(false), Shared(false))
        evidence.reading.value = {
            isReading.value = true
            await until { mayGoOn.value }
        }
        let channel = ScriptedChannel(evidence: evidence)
        var configuration = OperationsService.Configuration()
        configuration.clock = self.clock
        let operations = OperationsService(activation: channel, configuration: configuration)
        let agent = try ApprovalAgent(operations: operations, factors: { .possession }) { _ in
            .deferToPeople
        }
        try await self.run(agent) { _ in
            await channel.nextRequest().answer(SampleAnswer.list([]))
            await until { isReading.value }
            await agent.pauseDeciding()  // looks at what waits for a time
            await self.clock.waitForSleepers(1)
            self.clock.advanceToNextDeadline()
            let poll = await channel.nextRequest()
            #expect(agent.fleet.alarms.deadlineCount == 0)
            mayGoOn.value = true
            poll.answer(SampleAnswer.list([]))
        }
    }

    /// A state may come while the open decisions are read, and the fleet has other work. The list that is taken meanwhile stays.
    @Test func aStateThatComesWhileOpenDecisionsAreReadMakesNoListForgotten() async throws {
        let evidence = ScriptedEvidence()
        let (isReading, mayRead) = (Signal(), Signal())
        evidence.reading.value = {
            isReading.raise()
            _ = await mayRead.wait()
        }
        let listed = self.listed
        let channel = ScriptedChannel(evidence: evidence) { request in
            request.path.hasSuffix("list") ? SampleAnswer.list(listed.value) : SampleAnswer.ok
        }
        var configuration = OperationsService.Configuration()
        configuration.clock = self.clock
        let agent = try ApprovalAgent(
            operations: OperationsService(activation: channel, configuration: configuration),
            factors: { .possessionAndKnowledge(password: "1234") }
        ) { _ in .approve }
        await agent.pauseDeciding()
        try await self.run(agent) { events in
            _ = await isReading.wait()
            let occupation = Occupation()
            let occupying = Task(executorPreference: occupation) { await occupation.occupy(agent.fleet) }
            _ = await occupation.began.wait()
            let state = OperationsFleet.ActivationState(.active, reason: MobileTokenError(.timeout, "of this test"))
            agent.fleet.streams.stateChanged(state, of: channel.activationID)
            await self.expect("of this test", in: &events)
            mayRead.raise()
            await until { agent.health.openOperationCount == 1 }
            occupation.end.signal()
            await occupying.value
            // Whoever waited for the fleet, and then for the agent, comes first.
            _ = await agent.fleet.isIdle
            _ = await agent.keptFactorCount
            try #require(agent.health.openOperationCount == 1)
            await agent.resumeDeciding()
            await self.expect("decided: approve", in: &events)
        }
    }

    @Test func anAgentRunsOnce() async throws {
        let agent = try self.makeAgent { _ in .deferToPeople }
        try await self.run(agent) { events in
            await self.expect("left: by the policy", in: &events)
            await #expect(throws: MobileTokenError.self) { try await agent.run() }
        }
        await #expect(throws: MobileTokenError.self) { try await agent.run() }
    }

    @Test func decidingCanBePausedWhilePollingGoesOn() async throws {
        let agent = try self.makeAgent { _ in .approve }
        await agent.pauseDeciding()
        try await self.run(agent) { events in
            await self.expect("state: active", in: &events)
            await until { agent.health.openOperationCount == 1 }
            #expect(self.decided.value == [])
            #expect(!agent.health.isWell)
            await agent.resumeDeciding()
            await self.expect("payment 1: decided: approve", in: &events)
            #expect(agent.health.isWell)
        }
        #expect(!agent.health.isWell)
    }

    @Test func cancellationCancelsThePolicyAndDecidesNothing() async throws {
        let began = Shared(false)
        let agent = try self.makeAgent { _ in
            began.value = true
            await waitForCancellation()
            return .approve
        }
        try await self.run(agent) { _ in await until { began.value } }
        #expect(self.decided.value == [])
    }

    /// The request is on its way when the agent is canceled; what waits behind it is not begun.
    @Test func cancellationLetsADecisionOnItsWayEnd() async throws {
        self.listed.value = ["2", "1"].map { .sampleOperation($0, data: "A2") }
        let service = self.makeService()
        let agent = try ApprovalAgent(
            operations: service,
            factors: { .possession },
            policy: { _ in .reject() }
        )
        var events = agent.events().makeAsyncIterator()
        let task = Task { try await agent.run() }
        await self.channel.waitForList(self.listed.value)
        let request = await self.channel.nextRequest()
        task.cancel()
        await until { agent.isShutDown }
        request.answer(SampleAnswer.ok)
        try await task.value
        var kinds: [String] = []
        while let event = await events.next(isolation: #isolation) { kinds.append(event.description) }
        #expect(kinds.last?.hasSuffix("payment 1: decided: reject (UNKNOWN)") == true)
        #expect(self.channel.pendingCount == 0)
    }

    @Test func theGracePeriodIsNotExceeded() async throws {
        let service = self.makeService()
        let agent = try ApprovalAgent(
            operations: service,
            factors: { .possession },
            policy: { _ in .reject() }
        )
        let task = Task { try await agent.run() }
        await self.channel.waitForList(self.listed.value)
        let request = await self.channel.nextRequest()
        task.cancel()
        await until { agent.isShutDown }
        while self.channel.pendingCount > 0 {
            self.clock.advanceToNextDeadline()
            await Task.yield()
        }
        try await task.value
        #expect(ManualClock().now.duration(to: self.clock.now) >= .seconds(25))
        withExtendedLifetime(request) {}
    }

    // MARK: Dry run

    /// Both of two signed amounts leave the account.
    @Test func allSignedAmountsAreCharged() {
        let limit = ApprovalAgent.Limit("sum", of: .fleet, within: .rolling(.hours(1)), sum: ["CZK": 100])
        let rules = LimitRules([limit], userID: { _ in nil })
        for (data, passed) in [("A2*A60CZK*A40CZK", nil), ("A2*A60CZK*A50CZK", "sum")] {
            var sums = ChargeSums()
            let operation = UserOperation(id: "1", name: "payment", data: data)
            #expect(rules.limit(passedBy: OperationReview(of: operation, activationID: "a"), &sums) == passed)
        }
    }

    @Test func aDryRunDecidesNothing() async throws {
        struct Broken: Error {}
        let agent = try self.makeAgent { review in
            switch review.operation.id {
            case "1": return .approve
            case "2": return .reject("POSSIBLE_FRAUD")
            case "3": throw Broken()
            case "6": return .deferToPeople(reason: "over the limit")
            default: return .askAgain(after: .seconds(5))
            }
        }
        let operations = ["1", "2", "3", "4", "6"].map {
            UserOperation(id: $0, name: "login", data: "A2", status: .approved)
        }
        let dryRun = await agent.dryRun(
            over: operations + [UserOperation(id: "5", name: "transfer\n", data: "?")],
            of: "a"
        )
        #expect(
            dryRun.table == """
                OPERATION  NAME        STATUS    VERDICT                  WHY
                1          login       APPROVED  approve
                2          login       APPROVED  reject (POSSIBLE_FRAUD)
                3          login       APPROVED  leave                    the policy threw Broken
                4          login       APPROVED  later (5.0 seconds)
                6          login       APPROVED  leave                    over the limit
                5          transfer\\n  PENDING   leave                    incomplete: undocumentedData

                """
        )
        let json = try JSONValue(parsing: Array(dryRun.json.utf8))
        #expect(json[4]?["reason"]?.string == "over the limit")
        #expect(json[5]?["doubts"]?[0]?.string == "undocumentedData")
        #expect(json[0]?["verdict"]?.string == "approve")
        #expect(json[2]?["reason"]?.string == "the policy threw Broken")
        #expect(self.decided.value == [])
    }
}

extension ScriptedChannel {
    /// Answers the first request with a list, and leaves the others to the test.
    fileprivate func waitForList(_ operations: [JSONValue]) async {
        self.setRule(nil)
        await self.nextRequest().answer(SampleAnswer.list(operations))
    }
}

/// Keeps a fleet busy, on a thread of its own: nobody else waits for one.
private final class Occupation: TaskExecutor {
    let began = Signal()
    let end = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "occupation")
    private let isOwnThread = DispatchSpecificKey<Bool>()

    init() { self.queue.setSpecific(key: self.isOwnThread, value: true) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// An actor at work goes on with the next job on the thread that it has. To block one that other tests share would stop them all.
    func occupy(_ fleet: OperationsFleet) async {
        while await !self.block(fleet) { await Task.yield() }
    }

    private func block(_ fleet: isolated OperationsFleet) -> Bool {
        guard DispatchQueue.getSpecific(key: self.isOwnThread) == true else { return false }
        self.began.raise()
        self.end.wait()
        return true
    }
}
