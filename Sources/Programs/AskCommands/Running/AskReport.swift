import CommandLineSupport
import ExactJSON
import Foundation
import Glibc
import MobileTokenApprovals
import PowerAuth
import Synchronization

/// The report that reliably states whether the command ran.
///
/// It is written before any person is asked, and again before the command starts. If the process is killed, it keeps the last
/// state: `ran` is `false` before the start, `null` from the start to the end, and `true` after the end.
final class AskReport: Sendable {
    private struct State {
        var outcome = "asking"
        /// Indicates whether the command ran; `nil` from its start until its end is known.
        var ran: Bool? = false
        var exitStatus: ExitCode?
        var exitCode: ExitCode?
        var performance: ApprovalError.Performance?
        var message: String?
        var ticket: ApprovalTicket?
        var approval: ApprovalDesk.Approval?
        var isRecorded = true
        var serverWords: String?
        /// Indicates whether the end is recorded, which is permanent.
        var isOver = false
        var id: String?
        var audience: String?
        var template: String?
    }

    private let path: String?
    /// The files that the report must not replace.
    private let inputs: [String]
    private let state = Mutex(State())

    /// Creates a report, in a file if a path is given.
    ///
    /// - Parameter inputs: The files that the call reads and writes, which the report must not replace.
    /// - Throws: `MobileTokenError` if the file cannot be written, `UsageError` if it is not suitable for a report.
    init(_ path: String?, sparing inputs: [String]) throws {
        self.path = path.map { URL(filePath: $0).absoluteURL.path }
        self.inputs = inputs
        try self.write()
    }

    /// Refuses targets that the report would silently destroy: links, devices, pipes, and the call's own files.
    private func requireReplaceable(_ path: String) throws {
        let place = FilePlace(path)
        guard !self.inputs.contains(where: { FilePlace($0).isSame(as: place) }) else {
            throw UsageError(message: "--report would replace \(path), which 'ask' needs: name another file")
        }
        var status = stat()
        guard lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw UsageError(message: "--report: \(path) is no regular file")
        }
    }

    // MARK: Events

    func begin(id: String, audience: String, template: String) throws {
        self.state.withLock { ($0.id, $0.audience, $0.template) = (id, audience, template) }
        try self.write()
    }

    /// Records the question's state in the ledger.
    func note(_ ticket: ApprovalTicket?) { self.state.withLock { $0.ticket = ticket ?? $0.ticket } }

    /// Records that the ledger could not record the action's end.
    func noteUnrecorded() { self.state.withLock { $0.isRecorded = false } }

    /// The last message of a server that did not do as requested.
    var serverWords: String? {
        get { self.state.withLock { $0.serverWords } }
        set { self.state.withLock { $0.serverWords = newValue } }
    }

    /// Records durably that the command starts now.
    func start(_ approval: ApprovalDesk.Approval) throws {
        self.state.withLock { ($0.outcome, $0.ran, $0.approval) = ("running", nil, approval) }
        try self.write()
    }

    /// Records that the command was not started, although the approval was consumed.
    func notStarted(_ approval: ApprovalDesk.Approval) {
        self.state.withLock { ($0.ran, $0.approval, $0.performance) = (false, approval, .threw) }
    }

    /// Records the end of the command, or of a claim without one.
    func end(_ approval: ApprovalDesk.Approval, status: ExitCode?) {
        self.state.withLock { state in
            state.approval = approval
            state.outcome = status ?? .done == .done ? "done" : "threw"
            (state.ran, state.exitStatus, state.exitCode) = (status != nil, status, status ?? .done)
            state.performance = state.isRecorded ? (status ?? .done == .done ? .done : .threw) : .unknown
        }
        self.writeLast()
    }

    /// Records why the command did not run, or that this is unknown.
    func fail(_ error: any Error, outcome: String? = nil) {
        let failure = Failure(error)
        let isNew = self.state.withLock { state in
            guard !state.isOver else { return false }
            state.isOver = true
            (state.outcome, state.message, state.exitCode) = (
                outcome ?? failure.code, failure.message, failure.exitCode
            )
            if !state.isRecorded { state.performance = .unknown }
            state.performance = (error as? AskFailure)?.performance ?? state.performance
            return true
        }
        if isNew { self.writeLast() }
    }

    // MARK: Writing

    private func write() throws {
        guard let path else { return }
        // Checked each time: the file may have changed.
        try self.requireReplaceable(path)
        let bytes = Array((String(decoding: self.document.serialized(), as: UTF8.self) + "\n").utf8)
        try bytes.withUnsafeBytes { try PrivateFile.replace(path, with: $0) }
    }

    /// Writes the end, which counts even if writing fails.
    private func writeLast() {
        do { try self.write() } catch {
            Output.note("\(CommandLineProgram.name): cannot write the report: \(TextTable.printable("\(error)"))")
        }
    }

    /// The report. Later versions add members, but never rename or remove them; unknown values are `null`.
    var document: JSONValue {
        let state = self.state.withLock { $0 }
        func number(_ code: ExitCode?) -> JSONValue { code.map { .number(JSONNumber($0.rawValue)) } ?? .null }
        return [
            "id": .optional(state.id),
            "audience": .optional(state.audience),
            "template": .optional(state.template),
            "outcome": .string(state.outcome),
            "ran": state.ran.map { .bool($0) } ?? .null,
            "exitStatus": number(state.exitStatus),
            "exitCode": number(state.exitCode),
            "performance": .optional(state.performance?.rawValue),
            "message": .optional(state.message),
            "fingerprint": .optional(state.ticket?.fingerprint),
            "expires": state.ticket.map { .date($0.expires) } ?? .null,
            "idempotencyKey": .optional(state.approval?.idempotencyKey),
            "approvals": .array((state.approval?.approvals ?? []).map(\.document)),
        ]
    }
}

extension PersonalApproval {
    fileprivate var document: JSONValue {
        [
            "person": .string(self.person.id),
            "userId": .string(self.userID),
            "operationId": .string(self.operationID),
            "registrationId": .optional(self.registrationID),
            "factors": .optional(self.factors),
            "approved": self.approvedAt.map { .date($0) } ?? .null,
            "evidence": .string(self.evidence.rawValue),
        ]
    }
}
