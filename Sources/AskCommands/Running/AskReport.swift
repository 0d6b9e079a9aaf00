import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import Glibc
import MobileTokenApprovals
import PowerAuth
import Synchronization

/// The document that tells for certain whether the command ran.
///
/// It is in its file before anybody is asked, and again before the command starts. A process that is killed leaves what was true until then:
/// `ran` is `false` before the start, `null` from the start to the end, and `true` after the end.
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
        var approval: Approval?
        var isRecorded = true
        var serverWords: String?
        /// The end is noted, and stays.
        var isOver = false
        var id: String?
        var audience: String?
        var template: String?
    }

    private let path: String?
    private let state = Mutex(State())

    /// Begins a report, in a file if there is to be one.
    ///
    /// - Parameter inputs: The files that the call reads, which the report must not replace.
    /// - Throws: `MobileTokenError` when the file cannot be written, `UsageError` when it is anything but a file for a report.
    init(_ path: String?, sparing inputs: [String]) throws {
        self.path = path.map { URL(filePath: $0).absoluteURL.path }
        if let path = self.path { try Self.requireReplaceable(path, inputs) }
        try self.write()
    }

    /// Refuses what the report would silently put an end to: links, devices, pipes, and what is to be read.
    private static func requireReplaceable(_ path: String, _ inputs: [String]) throws {
        var (status, input) = (stat(), stat())
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw UsageError(message: "--report: \(path) is no regular file")
        }
        for file in inputs where stat(file, &input) == 0 {
            guard (input.st_dev, input.st_ino) != (status.st_dev, status.st_ino) else {
                throw UsageError(message: "--report would replace \(path), which is to be read")
            }
        }
    }

    // MARK: What happens

    func begin(id: String, audience: String, template: String) throws {
        self.state.withLock { ($0.id, $0.audience, $0.template) = (id, audience, template) }
        try self.write()
    }

    /// Notes the question as it is in the ledger.
    func note(_ ticket: ApprovalTicket?) { self.state.withLock { $0.ticket = ticket ?? $0.ticket } }

    /// Notes that the ledger could not be told how the action ended.
    func noteUnrecorded() { self.state.withLock { $0.isRecorded = false } }

    /// The last words of a server that did not do as it was asked.
    var serverWords: String? {
        get { self.state.withLock { $0.serverWords } }
        set { self.state.withLock { $0.serverWords = newValue } }
    }

    /// Notes, durably, that the command starts now.
    func start(_ approval: Approval) throws {
        self.state.withLock { ($0.outcome, $0.ran, $0.approval) = ("running", nil, approval) }
        try self.write()
    }

    /// Notes that the command was not started, although the approval was used up for it.
    func notStarted(_ approval: Approval) {
        self.state.withLock { ($0.ran, $0.approval, $0.performance) = (false, approval, .threw) }
    }

    /// Notes the end of the command, or of the claim without one.
    func end(_ approval: Approval, status: ExitCode?) {
        self.state.withLock { state in
            state.approval = approval
            state.outcome = status ?? .done == .done ? "done" : "threw"
            (state.ran, state.exitStatus, state.exitCode) = (status != nil, status, status ?? .done)
            state.performance = state.isRecorded ? (status ?? .done == .done ? .done : .threw) : .unknown
        }
        self.writeLast()
    }

    /// Notes why the command did not run, or that it is not known.
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
        let bytes = Array((String(decoding: self.document.serialized(), as: UTF8.self) + "\n").utf8)
        try bytes.withUnsafeBytes { try PrivateFile.replace(path, with: $0) }
    }

    /// Writes the end. It counts also when it cannot be written.
    private func writeLast() {
        do { try self.write() } catch {
            Output.note("\(CommandLineProgram.name): cannot write the report: \(TextTable.printable("\(error)"))")
        }
    }

    /// The report. Members are added in later versions, never renamed or removed; what is not known is `null`.
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
