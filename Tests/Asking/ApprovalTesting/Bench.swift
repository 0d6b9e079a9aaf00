import Dispatch
import Foundation
package import MobileTokenApprovals
import MobileTokenCloud
package import MobileTokenTesting
import Synchronization

/// A desk with a server that does what a test wants, in test time.
package struct Bench: Sendable {
    package static let template = ApprovalTemplate("deploy", signs: "A9*T${service}*N${version}*R${binding}")

    package let clock: ManualClock
    package let server: TestServer
    package let ledger: ApprovalLedger
    package let desk: ApprovalDesk
    package let runs = Runs()

    package final class Runs: Sendable {
        private let state = Mutex<[[UInt8]]>([])
        package var all: [[UInt8]] { self.state.withLock { $0 } }
        package var count: Int { self.all.count }
        package func note(_ bytes: [UInt8]) { self.state.withLock { $0.append(bytes) } }
    }

    package init(
        ledger: ApprovalLedger = .inMemory(),
        server: TestServer? = nil,
        isDocumentedOnly: Bool = false,
        isAnswered: Bool = true,
        _ configure: (inout ApprovalDesk.Configuration) -> Void = { _ in }
    ) async throws {
        let made = server ?? TestServer(ManualClock())
        self.clock = made.clock
        made.with { state in
            state.isDocumentedOnly = isDocumentedOnly
            if state.registrations.isEmpty {
                for (device, user) in [("device-1", "alice"), ("device-2", "bob"), ("device-3", "carol")] {
                    let dayBefore = TestServer.start - 86_400_000
                    state.registrations[device] = .init(id: device, status: "ACTIVE", userID: user, created: dayBefore)
                }
                state.script["bob"] = TestServer.Decision(registration: "device-2")
                state.script["carol"] = TestServer.Decision(registration: "device-3")
                state.script["alice"] = TestServer.Decision()
            }
            if !isAnswered { state.script = [:] }
        }
        self.server = made
        self.ledger = ledger
        self.desk = try await Self.desk(ledger, made, configure)
    }

    package static func desk(
        _ ledger: ApprovalLedger,
        _ server: TestServer,
        audience: String = "test",
        _ configure: (inout ApprovalDesk.Configuration) -> Void = { _ in }
    ) async throws -> ApprovalDesk {
        var configuration = ApprovalDesk.Configuration()
        configuration.clock = server.clock
        configuration.now = { Date(timeIntervalSince1970: Double(TestServer.start + server.elapsed) / 1_000) }
        configuration.willAsk = server.know
        configure(&configuration)
        return try await ApprovalDesk(
            audience: audience,
            cloud: CloudClient(inProcess: server),
            ledger: ledger,
            configuration: configuration
        )
    }

    package static func request(_ id: String = "deploy-1", from approvers: Approvers = .user("alice"))
        -> ApprovalRequest
    {
        ApprovalRequest(
            id: id,
            from: approvers,
            template: Self.template,
            parameters: ["service": "billing", "version": "4.2.1"],
            action: .bytes(Array("manifest".utf8)),
            expires: .seconds(300)
        )
    }

    /// Like ``request(_:from:)``, and content with a server that shows only what is documented.
    package func readable(_ request: ApprovalRequest) -> ApprovalRequest {
        var request = request
        request.offlineRegistrations = ["alice": "device-1", "bob": "device-2", "carol": "device-3"]
        return request
    }

    /// Runs `body` while the clock goes on by itself whenever somebody sleeps.
    ///
    /// All of it takes turns on one queue, and everybody has had several before the clock goes on, tasks that a desk begins for itself
    /// included, which run beside it: time does not run away from a task that a busy machine keeps waiting.
    package func passing<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result
    {
        let (clock, turns) = (self.clock, TurnExecutor())
        let driver = Task(executorPreference: turns) {
            while !Task.isCancelled {
                await clock.waitForSleepers(1)
                // A long time passes at once: whoever is at work must have come to wait before.
                let isLong = clock.timeToNextDeadline.map { $0 > .seconds(10) } ?? false
                for _ in 0..<(isLong ? 1_024 : 32) {
                    await Task.yield()
                    await Task.detached {}.value
                }
                if !Task.isCancelled { clock.advanceToNextDeadline() }
            }
        }
        defer { driver.cancel() }
        return try await withTaskExecutorPreference(turns) { try await body() }
    }

    /// Performs a request in test time.
    @discardableResult
    package func perform(_ request: ApprovalRequest = Self.request(), at desk: ApprovalDesk? = nil) async throws
        -> ApprovalDesk.Approval
    {
        let (desk, runs) = (desk ?? self.desk, self.runs)
        return try await self.passing {
            try await desk.perform(request) { approval in
                runs.note(approval.action)
                return approval
            }
        }
    }

    /// Performs a request that must fail, and returns the error's code; nothing may run.
    package func code(of request: ApprovalRequest = Self.request(), at desk: ApprovalDesk? = nil) async -> ApprovalError
        .Code?
    {
        do {
            try await self.perform(request, at: desk)
            return nil
        } catch {
            return (error as? ApprovalError)?.code
        }
    }

    /// Asks, and waits for the decision.
    @discardableResult
    package func decided(_ request: ApprovalRequest = Self.request()) async throws -> ApprovalTicket {
        let ticket = try await self.desk.ask(request)
        _ = try await self.passing { try await ticket.decision() }
        return ticket
    }

    package func state(_ id: String = "deploy-1") async throws -> ApprovalState? {
        try await self.desk.tickets(id: id).first?.state
    }
}

extension ApprovalTicket.Decision {
    /// The approvals, if it is one.
    package var approvals: [PersonalApproval]? { if case .approved(let approvals) = self { approvals } else { nil } }
}

/// Runs the jobs of tasks one after the other, in the order in which they come.
private final class TurnExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "turns")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
