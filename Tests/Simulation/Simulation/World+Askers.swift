import Foundation
import MobileTokenApprovals

// The requester's process.
extension World {
    func ask(_ device: Int) {
        let question = Asker.Question(id: "question-\(self.asker.questions.count + 1)", device: device)
        self.asker.questions.append(question)
        guard let process = self.asker.process, let desk = self.asker.desk else { return }
        self.simulator.spawn(in: process) { await self.perform(question, at: desk) }
    }

    func startAsker() {
        self.asker.lives += 1
        let process = self.simulator.makeProcess("asker\(self.asker.lives > 1 ? ", life \(self.asker.lives)" : "")")
        self.asker.process = process
        self.simulator.spawn(in: process) {
            while self.asker.desk == nil {
                do {
                    let desk = try await self.openDesk(process)
                    self.asker.desk = desk
                    for question in self.asker.questions where !self.asker.ended.contains(question.id) {
                        Task { await self.perform(question, at: desk) }
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

    func perform(_ question: Asker.Question, at desk: ApprovalDesk) async {
        var request = ApprovalRequest(
            id: question.id,
            from: .user(self.setting.devices[question.device].user),
            template: ApprovalTemplate("deploy", signs: "A9*R${binding}"),
            action: .bytes(Array(question.id.utf8)),
            expires: Self.questionExpires
        )
        request.validFor = Self.questionIsValid
        while true {
            do {
                try await desk.perform(request) { [question] approval in
                    self.simulator.note("begins the action of \(question.id)")
                    self.judge.acted(question.id, by: approval.approvals.compactMap(\.operationID))
                    if self.asker.diesInAction {
                        self.asker.diesInAction = false
                        self.asker.stepsToDeath = 1
                    }
                    try await self.clock.sleep(for: .seconds(1))
                    self.simulator.note("has ended the action of \(question.id)")
                }
                break
            } catch let error as ApprovalError where error.code == .ledgerFailed {
                self.simulator.note("\(question.id): \(error), caused by \(error.underlying as Any)")
                try? await self.clock.sleep(for: .seconds(3))
            } catch {
                self.simulator.note("\(question.id) came to nothing: \(error)")
                break
            }
        }
        self.asker.ended.insert(question.id)
    }

    func killAsker() {
        guard let process = self.asker.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is killed") }
        self.simulator.kill(process)
        self.judge.count("askers killed")
        (self.asker.process, self.asker.desk, self.asker.stepsToDeath) = (nil, nil, nil)
        self.after(self.asker.restartsAfter) { if !self.isEnding { self.startAsker() } }
    }

    /// Checks that the ledger's statements about actions are true.
    func checkQuestions() {
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
            case .done, .claimed, .threw, .unknown, .settled: break
            case _ where count > 0:
                self.judge.fail("\(question.id) was acted on, and is \(state.rawValue)")
            case .drafted, .open, .approved:
                // The desk gives up at most a minute after an approval's last possible use.
                let age = Int64(self.date.timeIntervalSince1970 * 1_000) - row.asked
                let limit = Self.questionExpires + Self.questionIsValid + .seconds(65)
                if self.asker.process != nil, age > limit.nanoseconds / 1_000_000 {
                    self.judge.fail("\(question.id) was left \(state.rawValue)")
                }
            default: break
            }
        }
    }
}
