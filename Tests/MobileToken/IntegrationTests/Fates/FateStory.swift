import MobileToken
import MobileTokenApprovals
import MobileTokenReconciliation
import MobileTokenTesting
import TestSupport
import Testing

/// The steps of a story, told from its beginning to its end.
struct FateStory {
    let world: FateWorld
    var cell: FateCell { self.world.cell }
    private static let newPassword = "battery staple"

    /// - Returns: The claims that are not true.
    static func tell(_ cell: FateCell, from origin: FateOrigin) async throws -> [String] {
        try await origin.server.withSpace(from: .copy(of: origin.server)) { emulator in
            try await Self(world: FateWorld(cell, in: emulator, from: origin)).tell()
        }
    }

    private func tell() async throws -> [String] {
        let emulator = self.world.emulator
        let operation = try await self.makeOperation()
        for rule in self.cell.fault.rules(self.cell.task.path) { await emulator.faults.add(rule) }
        if self.cell.task == .agent {
            try await self.world.whileTimePasses { try await self.runAgent(operation) }
        } else {
            try await self.step("task") { await self.act(operation) }
            try await self.happen(operation)
        }
        switch self.cell.settling {
        case .atOnce: break
        case .byNextDecision: try await self.step("next decision") { await self.decideAnother() }
        case .bySettle: try await self.step("settle") { await self.settle() }
        case .byRestart: try await self.step("restart") { try await self.restart() }
        }
        if let desk = self.world.desk, self.cell.next != .expiry {
            try await self.step("the answer", by: .seconds(2)) { await self.act(operation, with: desk) }
        }
        await emulator.faults.removeAll()
        try await self.note("the end")
        return try await self.judged()
    }

    private func makeOperation() async throws -> String {
        let emulator = self.world.emulator
        guard let desk = self.world.desk else {
            return try await emulator.cloud.createOperation("payment", userID: "alice").id
        }
        _ = try await self.world.whileTimePasses { try await desk.ask(FateQuestion.request) }
        return try #require(await emulator.operations().first).id
    }

    /// Acts if the desk is told that it may.
    private func act(_ operation: String, with desk: ApprovalDesk) async -> FateLedger.Claim.Draft {
        do {
            try await desk.perform(FateQuestion.request) { _ in }
            return .init(operation, .approve, .done)
        } catch let error as ApprovalError {
            return .init(operation, .approve, .unapproved(error))
        } catch {
            return .init(operation, .approve, .broken("\(error)"))
        }
    }

    /// Goes on after the task; at its moments, held and late requests are carried out.
    private func happen(_ operation: String) async throws {
        let faults = self.world.emulator.faults
        if self.cell.fault.lasts { await faults.removeAll() }
        if self.cell.release == .atOnce { await faults.release() }
        try await self.note("release")
        try await self.step("next") { try await self.goOn(operation) }
        if self.cell.release == .beforeSettling { await faults.release() }
        try await self.note("second release")
    }

    private func judged() async throws -> [String] {
        let emulator = self.world.emulator
        let summary = await emulator.activations().first { $0.id == self.world.activationID }
        var judge = FateJudge(
            self.world.ledger.value,
            activationID: self.world.activationID,
            journal: await emulator.journal()
        )
        if summary?.status != .active { judge.note("the activation is \(summary?.status.rawValue ?? "gone")") }
        if (summary?.failedAttempts ?? 0) > 2 { judge.note("\(summary?.failedAttempts ?? 0) failed attempts") }
        // The activation must be alive.
        do {
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            let service = self.world.service
            try await self.world.whileTimePasses {
                guard let operation = try await service.operations().first(where: { $0.id == made.id }) else { return }
                try await service.authorize(operation, with: self.factors)
            }
        } catch {
            judge.note("nothing can be decided afterwards: \(error)")
        }
        return judge.findings
    }

    private var factors: Activation.Authentication {
        let isChanged = self.world.ledger.value.claims.contains {
            if case .done = $0.content { $0.step == "task" && self.cell.task == .password } else { false }
        }
        return .possessionAndKnowledge(password: isChanged ? Self.newPassword : password)
    }

    // MARK: Steps

    private func step(
        _ name: String,
        by duration: Duration = .milliseconds(500),
        _ body: @Sendable () async throws -> FateLedger.Claim.Draft?
    ) async throws {
        let draft = try await self.world.whileTimePasses(by: duration, body)
        try await self.note(name, draft.map { [$0] } ?? [])
    }

    /// Writes down what was said, and what the receipts and the books have at this moment.
    private func note(_ name: String, _ drafts: [FateLedger.Claim.Draft] = []) async throws {
        let world = self.world
        var record = world.ledger.value.record
        await record.read(world.emulator)
        var statuses: [String: String] = [:]
        for operation in await world.emulator.operations() { statuses[operation.id] = operation.status.rawValue }
        let receipts = try await world.receipts()
        world.ledger.update { ledger in
            ledger.record = record
            let known = name == "agent" ? [] : Set(ledger.receipts.last?.receipts.map(\.intent.moves) ?? [])
            for draft in drafts {
                let own = receipts.filter {
                    $0.intent.personalData?.operationID == draft.operationID
                        && (name != "agent" || $0.intent.decision?.isAutomatic == true)
                }
                ledger.claims.append(
                    .init(
                        step: name,
                        operationID: draft.operationID,
                        verdict: draft.verdict,
                        content: draft.content,
                        status: draft.operationID.flatMap { statuses[$0] },
                        decisions: record.decisions,
                        moves: Set(own.map(\.intent.moves)).subtracting(known)
                    )
                )
            }
            ledger.receipts.append((name, receipts))
        }
    }

    private func act(_ id: String) async -> FateLedger.Claim.Draft? {
        switch self.cell.task {
        case .approve, .agent, .ask: return await self.decide(id, .approve, by: self.world.service)
        case .reject: return await self.decide(id, .reject, by: self.world.service)
        case .history:
            return await .init(nil, nil) { _ = try await self.world.service.history(authenticatedBy: self.factors) }
        case .password:
            return await .init(nil, nil) {
                try await self.world.activation().changePassword(
                    from: SecretBytes(utf8: password),
                    to: SecretBytes(utf8: Self.newPassword)
                )
            }
        }
    }

    private func decide(_ id: String, _ verdict: DecisionIntent.Verdict, by service: OperationsService) async
        -> FateLedger.Claim.Draft?
    {
        await .init(id, verdict) {
            guard let operation = try await service.operations().first(where: { $0.id == id }) else {
                throw Skipped()  // it is over, and no decision begins
            }
            switch verdict {
            case .approve: try await service.authorize(operation, with: self.factors)
            case .reject: try await service.reject(operation)
            }
        }
    }

    private func decideAnother() async -> FateLedger.Claim.Draft? {
        let made: String
        do { made = try await self.world.emulator.cloud.createOperation("login", userID: "alice").id } catch {
            return nil
        }
        return await self.decide(made, .approve, by: self.world.service)
    }

    private func goOn(_ operation: String) async throws -> FateLedger.Claim.Draft? {
        let verdict: DecisionIntent.Verdict = self.cell.task == .reject ? .reject : .approve
        switch self.cell.next {
        case .nothing: return nil
        case .sameOperation: return await self.decide(operation, verdict, by: self.world.service)
        case .otherOperation: return await self.decideAnother()
        case .otherDevice:
            _ = await self.decide(operation, verdict, by: self.world.otherService)
            return nil
        case .otherVerdict:
            return await self.decide(operation, verdict == .approve ? .reject : .approve, by: self.world.service)
        case .bankCancels:
            _ = try? await self.world.emulator.cloud.cancelOperation(operation)
            return nil
        case .expiry:
            // An asker waits for as long as the question lives.
            if let desk = self.world.desk { return await self.act(operation, with: desk) }
            await self.world.advance(by: .seconds(3_600))
            return nil
        }
    }

    private func settle() async -> FateLedger.Claim.Draft? {
        do {
            _ = try await self.world.service.reconcileReceipts(with: self.factors, isSettling: true)
            return nil
        } catch let error as MobileTokenError {
            return error.code == .decisionsOpen
                ? .init(nil, nil, .broken("settling ends with decisionsOpen")) : .init(nil, nil, .failed(error))
        } catch {
            return .init(nil, nil, .broken("\(error)"))
        }
    }

    private func restart() async throws -> FateLedger.Claim.Draft? {
        try await self.world.start(0)
        let agent = try self.agent { _ in .deferToPeople }
        let running = Task { try await agent.run() }
        try await self.world.clock.sleep(for: .seconds(60))
        running.cancel()
        _ = await running.result
        return nil
    }

    private func agent(_ policy: @escaping ApprovalAgent.Policy) throws -> ApprovalAgent {
        let factors = self.factors
        return try ApprovalAgent(
            operations: self.world.service,
            factors: { factors },
            configuration: .patient,
            policy: policy
        )
    }

    // MARK: An agent

    private func runAgent(_ operation: String) async throws {
        let agent = try self.agent { $0.operation.id == operation ? .approve : .deferToPeople }
        var events = agent.events().makeAsyncIterator()
        let running = Task { try await agent.run() }
        let emulator = self.world.emulator
        while await emulator.faults.counts.allSatisfy({ $0.struck == 0 }) { await Task.yield() }
        try await self.world.clock.sleep(for: .seconds(self.cell.fault == .held ? 22 : 2))
        try await self.note("task")
        let faults = emulator.faults
        if self.cell.fault.lasts { await faults.removeAll() }
        if self.cell.release == .atOnce { await faults.release() }
        let draft = try await self.goOn(operation)
        try await self.note("next", draft.map { [$0] } ?? [])
        if self.cell.release == .beforeSettling { await faults.release() }
        try await self.world.clock.sleep(for: .seconds(90))
        running.cancel()
        _ = await running.result
        var drafts: [FateLedger.Claim.Draft] = []
        while let event = await events.next(isolation: #isolation) {
            if let draft = FateLedger.Claim.Draft(event) { drafts.append(draft) }
        }
        try await self.note("agent", drafts)
    }

    private struct Skipped: Error {}
}

extension FateLedger.Claim {
    /// A claim before it is written down.
    struct Draft: Sendable {
        let operationID: String?
        let verdict: DecisionIntent.Verdict?
        let content: Content

        init(_ operationID: String?, _ verdict: DecisionIntent.Verdict?, _ content: Content) {
            (self.operationID, self.verdict, self.content) = (operationID, verdict, content)
        }

        /// The claim of a call; `nil` for one that did not begin.
        init?(
            _ operationID: String?,
            _ verdict: DecisionIntent.Verdict?,
            _ call: () async throws -> Void
        ) async {
            do {
                try await call()
                self.init(operationID, verdict, .done)
            } catch let error as MobileTokenError {
                self.init(operationID, verdict, .failed(error))
            } catch {
                return nil
            }
        }

        /// The claim of an event about the end of an operation.
        init?(_ event: ApprovalAgent.Event) {
            let id = event.operation?.id
            switch event.kind {
            case .decided(let verdict, _):
                if case .reject = verdict { self.init(id, .reject, .done) } else { self.init(id, .approve, .done) }
            case .refused(let error): self.init(id, .approve, .failed(error))
            case .finishedElsewhere(let error): self.init(id, .approve, .over(error))
            case .stopped(let error): self.init(id, .approve, .stopped(error))
            default: return nil
            }
        }
    }
}
