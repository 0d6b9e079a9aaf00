import Foundation
import MobileTokenApprovals

// The requester's processes.
extension World {
    func ask(_ device: Int) {
        let others = self.setting.devices.prefix(self.plan.devices).map(\.user)
        let count = self.plan.asksSeveral == true ? 1 + self.draw.below(self.plan.devices) : 1
        let users = (0..<count).map { others[(device + $0) % others.count] }
        let question = Asker.Question(
            id: "question-\(self.asker.questions.count + 1)",
            users: users,
            needed: count == 1 ? 1 : 1 + self.draw.below(count),
            asked: self.simulator.now
        )
        self.asker.questions.append(question)
        // Of two programs, such as replicas of a deployment, either or both perform it.
        let programs = self.asker.programs
        let chosen =
            programs.count == 1 || self.draw.happens(0.5)
            ? programs : [programs[self.draw.below(programs.count)]]
        for program in chosen {
            program.questions.append(question)
            guard let process = program.process, let desk = program.desk else { continue }
            self.simulator.spawn(in: process) { await self.perform(question, at: desk, of: program) }
        }
    }

    func start(_ asker: Asker.Program) {
        asker.lives += 1
        let process = self.simulator.makeProcess(
            asker.name + (asker.lives > 1 ? ", life \(asker.lives)" : "")
        )
        asker.process = process
        self.simulator.spawn(in: process) {
            while asker.desk == nil {
                do {
                    let desk = try await self.openDesk(process)
                    asker.desk = desk
                    for question in asker.questions where !asker.ended.contains(question.id) {
                        Task { await self.perform(question, at: desk, of: asker) }
                    }
                } catch {
                    self.simulator.note("cannot begin: \(error)")
                    try? await self.clock.sleep(for: .seconds(2))
                }
            }
        }
    }

    func openDesk(_ process: Simulator.Process) async throws -> ApprovalDesk {
        var cloud = CloudClient.Configuration()
        (cloud.transport, cloud.timeout) = (SimulatedTransport(world: self, isAutomatic: false), Self.timeout)
        cloud.clock = self.clock
        var configuration = ApprovalDesk.Configuration()
        configuration.clock = self.clock
        configuration.limits.openQuestions = 100
        configuration.isEligible = { person in self.struckOut[person.user] == nil }
        return try await ApprovalDesk(
            audience: "simulation",
            cloud: CloudClient(
                baseURL: Setting.baseURL,
                credentials: .init(user: "user", password: "password"),
                configuration: cloud
            ),
            ledger: ApprovalLedger(
                driver: SimulatedLedger(world: self, process: process),
                sealing: .closure { [setting] in setting.sealingKey }
            ),
            configuration: configuration
        )
    }

    func perform(_ question: Asker.Question, at desk: ApprovalDesk, of asker: Asker.Program) async {
        var request = ApprovalRequest(
            id: question.id,
            from: .any(
                question.needed,
                of: question.users.map { .init($0) },
                onRejection: self.plan.endsOnRejection == true ? .ends : .untilImpossible
            ),
            template: ApprovalTemplate("deploy", signs: "A9*R${binding}"),
            action: .bytes(Array(question.id.utf8)),
            expires: Self.questionExpires
        )
        request.validFor = Self.questionIsValid
        while true {
            do {
                try await desk.perform(request) { [question] approval in
                    self.simulator.note("begins the action of \(question.id)")
                    self.judgeAction(question, approval.approvals, by: asker)
                    self.checkClaim(question)
                    if let process = asker.process { self.reached(.action, process.index) }
                    try await self.clock.sleep(for: .seconds(1))
                    self.checkClaim(question)
                    self.simulator.note("has ended the action of \(question.id)")
                }
                break
            } catch let error as ApprovalError where error.code == .ledgerFailed {
                self.simulator.note("\(question.id): \(error), caused by \(error.underlying as Any)")
                self.judge.trace.asksAnew()
                try? await self.clock.sleep(for: .seconds(3))
            } catch {
                self.simulator.note("\(question.id) came to nothing: \(error)")
                break
            }
        }
        asker.ended.insert(question.id)
    }

    /// The action begins: those who approved it are as many as it takes, may still do so, and did it a short while ago.
    private func judgeAction(
        _ question: Asker.Question,
        _ approvals: [PersonalApproval],
        by asker: Asker.Program
    ) {
        var now = self.simulator.now
        // Nobody can rule out a suspension between the last look and the action.
        if let (thawed, begun) = asker.frozen, now - thawed < Self.lookIsGoodFor.nanoseconds { now -= thawed - begun }
        self.judge.acted(question.id, by: approvals.map(\.operationID), at: now)
        if Set(approvals.map(\.userID)).count < question.needed {
            self.judge.fail("the action of \(question.id) ran by \(approvals.count) approvals of \(question.needed)")
        }
        // The last look is a few seconds old at most.
        let last = now - Self.lookIsGoodFor.nanoseconds
        if approvals.contains(where: { self.struckOut[$0.userID].map { $0 < last } ?? false }) {
            self.judge.fail("the action of \(question.id) ran by the approval of somebody who was struck out")
        }
        if let objector = self.plan.objector, self.plan.endsOnRejection == true,
            question.users.contains(self.setting.devices[objector].user),
            self.judge.hasRejectedAll(of: objector, since: question.asked, before: last)
                || self.judge.hasHeardRejections(asker.process?.index ?? 0, of: objector, since: question.asked)
        {
            self.judge.fail("the action of \(question.id) ran, and one person had rejected it")
        }
        if self.withdrawn.contains(question.id) {
            self.judge.fail("the action of \(question.id) ran, and it was withdrawn")
        }
    }

    func strikeOut(_ device: Int) {
        let user = self.setting.devices[device].user
        self.struckOut[user] = self.struckOut[user] ?? self.simulator.now
    }

    /// While an action runs, the ledger says so.
    private func checkClaim(_ question: Asker.Question) {
        let state = self.questions.row(of: question.id)?.state
        if state != .claimed, self.defect != .claimsAfterAction {
            self.judge.fail("the action of \(question.id) runs, and the ledger says \(state?.rawValue ?? "nothing")")
        }
    }

    /// A program is about to claim a question.
    func claims() {
        let waiting = self.asker.questions.filter { self.judge.actions[$0.id] == nil }
        guard self.withdrawsAtClaim, let question = self.draw.element(of: waiting) else { return }
        self.withdrawsAtClaim = false
        self.withdraw(question.id)
    }

    /// Withdraws the last question, or one as a claim is made.
    func withdraw() {
        guard self.draw.happens(0.5) else { return self.withdrawsAtClaim = true }
        if let id = self.asker.questions.last?.id { self.withdraw(id) }
    }

    private func withdraw(_ id: String) {
        let program = self.asker.programs[self.draw.below(self.asker.programs.count)]
        guard let process = program.process, let desk = program.desk else { return }
        self.simulator.spawn(in: process) {
            do {
                guard let ticket = try await desk.tickets(id: id).first else { return }
                try await ticket.withdraw()
                self.withdrawn.insert(id)
                if self.judge.actions[id] != nil {
                    self.judge.fail("\(id) was withdrawn, and its action had begun")
                }
                self.judge.count("questions withdrawn")
                self.simulator.note("has withdrawn \(id)")
            } catch {
                self.simulator.note("cannot withdraw \(id): \(error)")
            }
        }
    }

    /// Lets a program have its fate at a moment.
    func plan(_ moment: Plan.AskerMoment, _ act: @escaping (Asker.Program) -> Void) {
        let asker = self.asker.programs[self.draw.below(self.asker.programs.count)]
        asker.fates.append((moment, { act(asker) }))
    }

    func kill(_ asker: Asker.Program, _ seconds: Int) {
        guard let process = asker.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is killed") }
        self.simulator.kill(process)
        self.judge.count("askers killed")
        self.judge.trace.disturbed(process.index, at: self.simulator.now)
        if let frozen = asker.frozen, frozen.until == .max { asker.frozen?.until = self.simulator.now }
        (asker.process, asker.desk) = (nil, nil)
        self.after(seconds) { if !self.isEnding, asker.process == nil { self.start(asker) } }
    }

    func cut(_ asker: Asker.Program, _ seconds: Int) {
        self.judge.count("askers cut off")
        if let process = asker.process { self.judge.trace.disturbed(process.index, at: self.simulator.now) }
        asker.isCut = true
        self.after(seconds) { asker.isCut = false }
    }

    func freeze(_ asker: Asker.Program, _ seconds: Int) {
        guard let process = asker.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is frozen") }
        self.judge.count("askers frozen")
        self.judge.trace.disturbed(process.index, at: self.simulator.now)
        self.simulator.freeze(process, true)
        asker.frozen = (.max, self.simulator.now)
        self.after(seconds) { if asker.process == process { self.thaw(asker) } }
    }

    /// Lets a suspended program go on.
    func thaw(_ asker: Asker.Program) {
        guard let process = asker.process, let frozen = asker.frozen, frozen.until == .max else { return }
        self.simulator.act(as: process) { self.simulator.note("is thawed") }
        asker.frozen = (self.simulator.now, frozen.since)
        self.simulator.freeze(process, false)
    }

    /// Checks that the ledger's statements about actions are true.
    func checkQuestions() {
        self.judge.checkStrays(at: self.simulator.now)
        let rows = self.questions.table.rows(.states(Set(ApprovalState.allCases)), after: nil, limit: .max)
        for row in rows.sorted(by: { $0.asked < $1.asked }) {
            self.judge.count("question \(row.state?.rawValue ?? "unreadable")")
        }
        let actions = self.judge.actions
        for question in self.asker.questions {
            let count = actions[question.id] ?? 0
            guard let row = self.questions.row(of: question.id) else {
                if count > 0 { self.judge.fail("\(question.id) was acted on, and the ledger does not know it") }
                continue
            }
            guard let state = row.state else {
                self.judge.fail("the row of \(question.id) cannot be read")
                continue
            }
            switch state {
            case .done where count != 1: self.judge.fail("\(question.id) is done, and its action ran \(count) times")
            case .mismatched:
                self.judge.fail("\(question.id) is something else at the bank, says a desk, and it is not")
            case .done, .claimed, .threw, .unknown, .settled: break
            case _ where count > 0:
                self.judge.fail("\(question.id) was acted on, and is \(state.rawValue)")
            case .drafted, .open, .approved:
                // The desk gives up at most a minute after an approval's last possible use.
                let age = Int64(self.date.timeIntervalSince1970 * 1_000) - row.asked
                let limit = Self.questionExpires + Self.questionIsValid + .seconds(65)
                let isPerformed = self.asker.programs.contains { program in
                    program.process != nil && program.questions.contains { $0.id == question.id }
                }
                if isPerformed, age > limit.nanoseconds / 1_000_000 {
                    self.judge.fail("\(question.id) was left \(state.rawValue)")
                }
            default: break
            }
        }
    }
}
