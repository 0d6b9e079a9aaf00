import CommandLineSupport
import Coordination
import Foundation
import MobileTokenApprovals
import MobileTokenCloud
import Synchronization

/// A call of `ask`: asks, waits, and runs the command at most once.
struct AskRun: Sendable {
    private let settings: AskSettings
    private let command: BoundCommand
    private let request: ApprovalRequest
    private let cloud: CloudClient
    private let ledger: ApprovalLedger
    private let withheld: Withheld
    private let report: AskReport

    /// Runs the whole call. The report shows the result in every case.
    static func run(_ invocation: Invocation, _ openers: [LedgerOpener]) async throws -> ExitCode {
        let report = try AskReport(invocation["report"], sparing: AskPlace.files(invocation))
        do {
            let run = try Self(invocation, openers, report)
            let status = try await run.act()
            if status == nil, invocation.has("json") { Output(isJSON: true).outcome(report.document, text: "") }
            return status ?? .done
        } catch {
            let mapped = AskFailure.mapped(error)
            report.fail(mapped)
            throw mapped
        }
    }

    private init(_ invocation: Invocation, _ openers: [LedgerOpener], _ report: AskReport) throws {
        let place = try AskPlace(invocation, openers)
        self.withheld = place.secrets(invocation)
        self.command = try BoundCommand(invocation, withholding: self.withheld)
        guard self.command.words == nil || !invocation.has("json") else {
            throw invocation.misuse(
                "standard output is the command's alone: --json goes without one, --report FILE with one"
            )
        }
        self.settings = place.settings
        self.request = try AskRequest.make(invocation, place.settings, self.command)
        try report.begin(id: self.request.id, audience: place.settings.audience, template: self.request.template.name)
        self.cloud = try CloudAccess(invocation, place.settings)
            .client(place.settings, timeout: try invocation.seconds("timeout"))
        self.ledger = place.ledger
        self.report = report
    }

    /// The end of a command with a nonzero status: a failed action.
    private struct Ended: Error {
        let status: ExitCode
    }

    /// Returns the exit status of the command; `nil` if there is none.
    private func act() async throws -> ExitCode? {
        var configuration = ApprovalDesk.Configuration()
        let report = self.report
        configuration.observer = { event in
            switch event.kind {
            case .outcomeNotRecorded: report.noteUnrecorded()
            case .serverFailed: report.serverWords = event.message
            default: break
            }
        }
        let desk = try await ApprovalDesk(
            audience: self.settings.audience,
            cloud: self.cloud,
            ledger: self.ledger,
            configuration: configuration
        )
        let held = try await self.ticket(desk)
        if held == nil { try await self.requireServer() }
        try Task.checkCancellation()
        // From here on a signal withdraws the question, or goes to the command.
        TerminationSignals.mustFinish.store(true, ordering: .releasing)
        defer { TerminationSignals.mustFinish.store(false, ordering: .releasing) }
        let events = desk.events()
        // Ends with this call.
        let announcing = Task {
            if held?.state == .open { self.announce(held) }
            for await event in events where event.kind == .asked { self.announce(try? await self.ticket(desk)) }
        }
        defer { announcing.cancel() }
        return try await self.perform(desk)
    }

    private func perform(_ desk: ApprovalDesk) async throws -> ExitCode? {
        let approval = Mutex<ApprovalDesk.Approval?>(nil)
        let status: ExitCode?
        do {
            status = try await desk.perform(self.request) { granted in
                approval.withLock { $0 = granted }
                return try await self.start(granted)
            }
        } catch let ended as Ended {
            status = ended.status
        } catch {
            let ticket = try? await self.ticket(desk)
            // Different content under its name makes it another question.
            if (error as? ApprovalError)?.code != .alreadyAsked { self.report.note(ticket) }
            if let error = error as? ApprovalError, error.code == .failed {
                throw AskFailure(error, self.report.serverWords)
            }
            guard error is CancellationError else { throw error }
            let message =
                switch ticket?.state {
                case .withdrawn: "withdrawn"
                case .drafted?, .open?, .approved?: "interrupted; the same --id goes on waiting (\(self.request.id))"
                default: "interrupted; nothing was run"
                }
            Output.note("\(CommandLineProgram.name): \(message)")
            self.report.fail(error, outcome: ticket?.state == .withdrawn ? "withdrawn" : nil)
            throw error
        }
        self.report.note(try? await self.ticket(desk))
        guard let granted = approval.withLock({ $0 }) else { return status }
        self.report.end(granted, status: status)
        let people = granted.approvals.map(\.person.id).joined(separator: ", ")
        let end = status.map { "; the command ended with \($0.rawValue)" } ?? ""
        Output.note("\(CommandLineProgram.name): approved by \(TextTable.printable(people))\(end)")
        return status
    }

    /// Runs the command, if there is one.
    private func start(_ approval: ApprovalDesk.Approval) async throws -> ExitCode? {
        guard self.command.words != nil else { return nil }
        let status: ExitCode
        do {
            status = try await self.command.run(
                approval.action,
                notAfter: approval.notAfter,
                withholding: self.withheld.variables
            ) { try self.report.start(approval) }
        } catch {
            self.report.notStarted(approval)
            throw error
        }
        guard status == .done else { throw Ended(status: status) }
        return status
    }

    /// Returns the question, if it was asked.
    private func ticket(_ desk: ApprovalDesk) async throws -> ApprovalTicket? {
        try await desk.tickets(id: self.request.id).first
    }

    private func announce(_ ticket: ApprovalTicket?) {
        guard let ticket else { return }
        self.report.note(ticket)
        let people = ticket.fingerprints.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
        let quorum = people.count > 1 ? ", of whom \(self.request.approvers.needed) must approve," : ""
        Output.note(
            """
            \(CommandLineProgram.name): asked \(TextTable.printable(people.joined(separator: ", ")))\(quorum) for \
            '\(TextTable.printable(self.request.template.name))', until \(ticket.expires.formatted(.iso8601)); \
            id \(TextTable.printable(ticket.id))
            """
        )
    }

    /// Requests a nonexistent operation. An unreachable or unexpected server is reported at once, while the desk would retry
    /// until the deadline.
    private func requireServer() async throws {
        do {
            let cloud = self.cloud
            let clock = ServiceClock(cloud.configuration.clock)
            // A busy server is asked again, but not beyond the question's deadline.
            let answer = try await withDeadline(clock.now + self.request.expires, on: clock) {
                try await cloud.operation("00000000-0000-0000-0000-000000000000")
            }
            guard answer == nil else { return }
            throw AskFailure("timeout", "The server does not answer in time; nobody was asked", .unavailable)
        } catch let error as CloudError {
            if let failure = AskFailure(unreachable: error) { throw failure }
        }
    }
}
