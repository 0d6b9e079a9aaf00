import ExactJSON
import HTTPClientTransport
import MobileToken
import MobileTokenApprovals
import MobileTokenTesting
import TestSupport
import Testing

@testable import AskCommands
@testable import CommandLineSupport

/// The asker's half of the matrix: faults strike the desk's own calls, and what its tickets and `ask` say is compared with the
/// bank's books. A change tells one story of each fault, `Scripts/test --full` all.
@Suite(.timeLimit(.minutes(10))) struct DeskFateTests {
    private static let faults = FateCell.Fault.allCases.filter { ![.stripped, .lateAfterCut].contains($0) }

    @Test(arguments: DeskCell.Call.allCases, Self.faults)
    func nothingFalseIsSaid(call: DeskCell.Call, fault: FateCell.Fault) async throws {
        let origin = try await FateMatrixTests.origin.value
        let cells = DeskCell.all(of: call, fault)
        var findings: [String] = []
        for cell in FateMatrixTests.isComplete ? cells : [DeskCell.sample(of: cells)] {
            for finding in try await DeskStory.tell(cell, from: origin) { findings.append("\(cell): \(finding)") }
        }
        #expect(findings == [], "\(findings.joined(separator: "\n"))")
    }
}

/// A story of a question: the desk's call that a fault strikes, what becomes of the operation meanwhile, and who looks next.
struct DeskCell: Sendable, CustomStringConvertible {
    enum Call: String, CaseIterable { case create, look, cancel }
    enum Meanwhile: String, CaseIterable { case nothing, approved, rejected, expired, canceled }
    enum Look: String, CaseIterable { case atOnce, next, afterRestart }

    let call: Call
    let fault: FateCell.Fault
    let meanwhile: Meanwhile
    let look: Look
    let release: FateCell.Release

    var description: String {
        [self.call.rawValue, self.fault.rawValue, self.meanwhile.rawValue, self.look.rawValue, self.release.rawValue]
            .joined(separator: " / ")
    }

    static func all(of call: Call, _ fault: FateCell.Fault) -> [Self] {
        let releases = fault.isPostponing ? FateCell.Release.allCases : [.atOnce]
        return Meanwhile.allCases.flatMap { meanwhile in
            Look.allCases.flatMap { look in
                releases.map { Self(call: call, fault: fault, meanwhile: meanwhile, look: look, release: $0) }
            }
        }
    }

    /// Returns one of them, another for each fault and call.
    static func sample(of cells: [Self]) -> Self {
        let row = FateCell.Fault.allCases.firstIndex(of: cells[0].fault) ?? 0
        let column = Call.allCases.firstIndex(of: cells[0].call) ?? 0
        return cells[(row * 7 + column * 5) % cells.count]
    }

    /// The states in which the ticket may end: no fault hides for ever what the bank has.
    var ends: [ApprovalState] {
        switch (self.call, self.meanwhile) {
        case (.cancel, _): [.withdrawn]
        // Time may pass faster than a desk acts.
        case (_, .approved): [.done, .lapsed]
        case (_, .rejected): [.rejected]
        case (.look, .canceled): [.canceled]
        // It may not have been there yet.
        case (_, .canceled): [.canceled, .expired]
        case (_, .nothing), (_, .expired): [.expired]
        }
    }

    var rules: [FaultRule] {
        let (method, path) =
            switch self.call {
            case .create: ("POST", "/v2/operations")
            case .look: ("GET", "/v2/operations/*")
            case .cancel: ("DELETE", "/v2/operations/*")
            }
        return self.fault.rules(path).map { rule in
            var rule = rule
            if !self.fault.lasts { rule.match.method = method }
            return rule
        }
    }
}

/// The steps of such a story. A person who decides is there until its end, and sees whatever is asked.
private struct DeskStory {
    let cell: DeskCell
    let world: FateWorld
    let ledger = ApprovalLedger.inMemory()
    let findings = Shared<[String]>([])
    let acts = Shared(0)
    /// Indicates whether the server has answered a creation.
    let isAsked = Shared(false)

    static func tell(_ cell: DeskCell, from origin: FateOrigin) async throws -> [String] {
        try await origin.server.withSpace(from: .copy(of: origin.server)) { emulator in
            let base = FateCell(task: .approve, fault: cell.fault, next: .nothing, settling: .atOnce)
            let story = Self(cell: cell, world: try await FateWorld(base, in: emulator, from: origin))
            try await story.tell()
            return story.findings.value
        }
    }

    private var request: ApprovalRequest {
        altered(FateQuestion.request) { $0.onCancel = .keep }
    }

    private func tell() async throws {
        let (faults, request) = (self.world.emulator.faults, self.request)
        let desk = try await self.makeDesk()
        if self.cell.call != .create { _ = try await self.world.whileTimePasses { try await desk.ask(request) } }
        for rule in self.cell.rules { await faults.add(rule) }
        let struck = Task {
            if self.cell.call == .cancel { try? await desk.tickets().first?.withdraw() }
            await self.act(desk)
        }
        try await self.world.whileTimePasses { await until { await faults.counts.contains { $0.struck > 0 } } }
        if self.cell.fault.lasts { await faults.removeAll() }
        if self.cell.release == .atOnce { await faults.release() }
        await self.happen()
        await self.check(desk, "meanwhile")
        if self.cell.release == .beforeSettling { await faults.release() }
        if self.cell.look != .atOnce { struck.cancel() }
        try await self.passing { await struck.value }
        let next = self.cell.look == .afterRestart ? try await self.makeDesk() : desk
        if self.cell.look != .atOnce { try await self.passing { await self.act(next) } }
        await self.check(next, "the look")
        await faults.removeAll()
        try await self.passing { await self.act(next) }
        await self.check(next, "the end")
    }

    /// Opens the desk, or opens it again: the ledger is all that it knows.
    private func makeDesk() async throws -> ApprovalDesk {
        var configuration = CloudClient.Configuration()
        configuration.clock = self.world.clock
        configuration.timeout = FateWorld.timeout
        configuration.transport = try InterceptingTransport(base: self.world.transport) { request, deliver in
            let isCreation = request.method == .post
            if isCreation, self.isAsked.value { self.note("asked again, though the server has answered") }
            var response = try await self.world.pass(request, deliver)
            // Of an answer that a proxy or the machine made, too.
            response.headers["Date"] = HTTPDate.string(from: await self.world.emulator.clock.now)
            if isCreation, (try? JSONValue(parsing: response.body))?["operationId"] != nil { self.isAsked.value = true }
            return response
        }
        let credentials = CloudClient.Credentials(
            user: self.world.emulator.cloudUser,
            password: self.world.emulator.cloudPassword
        )
        let url = self.world.emulator.cloudURL
        let cloud = try CloudClient(baseURL: url, credentials: credentials, configuration: configuration)
        return try await FateQuestion.desk(of: cloud, self.world.clock, self.ledger)
    }

    /// Acts if the desk is told that it may. The exit code of `ask` is that of the ticket's state.
    private func act(_ desk: ApprovalDesk) async {
        var code = ExitCode.done
        do {
            try await desk.perform(self.request) { approval in
                self.acts.update { $0 += 1 }
                let approved = await self.operations(.approved)
                if !approval.approvals.allSatisfy({ approved.contains($0.operationID) }) {
                    self.note("acted on what the bank has not approved")
                }
            }
        } catch let error as ApprovalError {
            code = AskFailure(error).exitCode
        } catch {
            if !(error is CancellationError) { self.note("\(error)") }
            return
        }
        let state = try? await desk.tickets().first?.state
        let isTrue =
            switch code {
            case .done, .performedBefore: state == .done
            case .rejected: state == .rejected
            case .expired: state == .expired || state == .lapsed
            case .canceled: state == .canceled || state == .withdrawn
            default: false
            }
        if !isTrue { self.note("exit \(code.rawValue), and the ticket is \(state?.rawValue ?? "gone")") }
    }

    // MARK: The bank and the person

    private func operations(_ status: CloudClient.OperationStatus) async -> [String] {
        await self.world.emulator.operations().filter { $0.status == status }.map(\.id)
    }

    private func happen() async {
        let service = self.world.service
        switch self.cell.meanwhile {
        case .nothing: break
        case .approved, .rejected:
            for operation in (try? await service.operations()) ?? [] {
                if self.cell.meanwhile == .rejected {
                    _ = try? await service.reject(operation)
                } else {
                    _ = try? await service.authorize(operation, with: .possessionAndKnowledge(password: password))
                }
            }
        case .expired: await self.world.advance(by: .seconds(400))
        case .canceled:
            for id in await self.operations(.pending) { _ = try? await self.world.emulator.cloud.cancelOperation(id) }
        }
    }

    /// Lets time pass, in which a person who decides looks again and again.
    private func passing(_ body: @Sendable () async -> Void) async throws {
        let (world, isThere) = (self.world, [.approved, .rejected].contains(self.cell.meanwhile))
        let step = Duration.seconds(isThere ? 2 : 20)
        let person = Task {
            while isThere, !Task.isCancelled {
                await world.traffic.counting { await self.happen() }
                try? await world.clock.sleep(for: .seconds(10))
            }
        }
        try await world.whileTimePasses(by: step, body)
        await person.stop()
    }

    // MARK: The judge

    private func note(_ finding: String) { self.findings.update { $0.append(finding) } }

    private func check(_ desk: ApprovalDesk, _ moment: String) async {
        // The bank's statuses are read last: none of them changes once it is the end of an operation.
        guard let state = try? await desk.tickets().first?.state else { return }
        let statuses = await self.world.emulator.operations().map(\.status)
        let acts = self.acts.value
        let isTrue =
            switch state {
            case .drafted, .open: acts == 0
            case .approved, .lapsed: acts == 0 && statuses.contains(.approved)
            case .claimed, .done: acts == 1 && statuses.contains(.approved)
            case .rejected: acts == 0 && statuses.contains(.rejected)
            case .canceled: acts == 0 && statuses.contains(.canceled)
            case .withdrawn: acts == 0 && self.cell.call == .cancel
            // Somebody who was asked did not decide.
            case .expired: acts == 0 && (statuses.isEmpty || statuses.contains { $0 != .approved && $0 != .rejected })
            case .threw, .unknown, .settled, .failed, .mismatched: false
            }
        let said = "\(moment): the ticket is \(state.rawValue), after \(acts) acts"
        if !isTrue { self.note("\(said), at the bank: \(statuses.map(\.rawValue))") }
        guard moment == "the end" else { return }
        if !self.cell.ends.contains(state) { self.note("\(said), which is no end of this story") }
    }
}
