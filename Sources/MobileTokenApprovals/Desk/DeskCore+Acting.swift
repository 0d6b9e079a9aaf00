import Basics
import Coordination
import Foundation

extension DeskCore {
    /// The time between the last look at the server and the first instruction of the action.
    static let freshness = Duration.seconds(5)

    /// The right to act, once.
    struct Claimed: Sendable {
        let key: LedgerKey
        let token: Int64
        let approvals: [PersonalApproval]
        let fingerprint: String
        let notAfter: Int64
        /// When the last look at the server was sent.
        let looked: Duration
    }

    /// Looks at every counted operation once more, and begins the action.
    ///
    /// - Throws: ``ApprovalError`` when it may not begin. Nothing runs then.
    func claim(_ key: LedgerKey) async throws -> Claimed {
        var wait = Duration.seconds(1)
        while true {
            try Task.checkCancellation()
            let stored = try await self.followed(try await self.loaded(key))
            guard stored.record.state == .approved, !stored.isForeign else { throw stored.record.refusal }
            let looked = self.clock.now
            guard let (checked, approvals, oldest) = try await self.check(stored) else {
                // No answer that tells: once more, until the approval is too old.
                try await self.clock.sleep(until: self.clock.now + wait)
                wait = min(wait * 2, .seconds(10))
                continue
            }
            guard checked.record.state == .approved else {
                self.report(.changed, checked.record)
                try? await self.step(key)
                throw checked.record.refusal
            }
            guard let token = try await self.begin(checked) else { continue }
            self.report(.changed, try await self.loaded(key).record)
            return Claimed(
                key: key,
                token: token,
                approvals: approvals,
                fingerprint: checked.record.fingerprint,
                notAfter: oldest.addingSaturated(checked.record.terms.validFor),
                looked: looked
            )
        }
    }

    /// Writes the claim. Its lease is held before, so that nobody takes it for one whose holder is gone.
    private func begin(_ stored: Stored) async throws -> Int64? {
        let token = Int64.random(in: 0 ... .max)
        try await self.ledger.hold(token)
        var record = stored.record
        do {
            guard record.claim(token: token, at: self.now) else { throw record.refusal }
            guard try await self.ledger.swap(stored, to: record) != nil else {
                await self.ledger.release(token)
                return nil
            }
            return token
        } catch {
            // Should it have been written all the same, its holder is gone from now on.
            await self.ledger.release(token)
            throw error
        }
    }

    /// Checks that the right may still be used.
    func isFresh(_ claimed: Claimed) -> Bool { self.clock.now - claimed.looked <= Self.freshness }

    /// Writes how an action ended.
    func finish(_ claimed: Claimed, _ state: ApprovalState) async {
        do {
            let stored = try await self.loaded(claimed.key)
            let changed = try await self.ledger.change(stored) { _ = $0.performed(claimed.token, state, at: self.now) }
            await self.ledger.release(claimed.token)
            self.report(changed.record.state == state ? .changed : .outcomeNotRecorded, changed.record)
        } catch {
            // Nobody holds the claim any more: whoever looks next finds `unknown`.
            await self.ledger.release(claimed.token)
            self.withState { $0.lastError = "\(error)" }
            if let stored = try? await self.ledger.load(claimed.key) {
                self.report(.outcomeNotRecorded, stored.record, "\(error)")
            } else {
                self.reportUnrecorded(claimed, "\(error)")
            }
        }
        let bells = self.withState { $0.bells(for: claimed.key) }
        for bell in bells { bell.raise() }
        try? await self.step(claimed.key)
    }

    private func reportUnrecorded(_ claimed: Claimed, _ message: String) {
        let event = ApprovalEvent(
            kind: .outcomeNotRecorded,
            questionID: "",
            fingerprint: claimed.fingerprint,
            state: .unknown,
            message: message,
            date: self.configuration.now()
        )
        self.configuration.observer?(event)
        self.events.send(event)
    }

    // MARK: Step (3)

    private typealias Checked = (stored: Stored, approvals: [PersonalApproval], oldest: Int64)
    private typealias Finding = (index: Int, verdict: Verdict)

    private enum Verdict: Sendable {
        /// With the age of the approval, in milliseconds.
        case counts(PersonalApproval, age: Int64)
        case discounted(ApprovalError.Code, String)
        case ends(ApprovalState, ApprovalError.Code, String)
        /// No answer that tells.
        case silent
    }

    /// Returns `nil` when the server does not tell. A question that may not be acted on has another state afterwards.
    private func check(_ stored: Stored) async throws -> (Stored, [PersonalApproval], Int64)? {
        let record = stored.record
        let counted = record.parts.indices.filter { record.parts[$0].answer == .approved }
        let findings = try await withThrowingTaskGroup(of: Finding.self) { group in
            for index in counted { group.addTask { (index, try await self.verdict(index, record)) } }
            return try await group.reduce(into: [Finding]()) { $0.append($1) }
        }.sorted { $0.index < $1.index }
        var approvals: [PersonalApproval] = []
        var oldest: Int64 = 0
        var isSilent = false
        for finding in findings {
            switch finding.verdict {
            case .counts(let approval, let age):
                approvals.append(approval)
                oldest = max(oldest, age)
            case .silent: isSilent = true
            case .discounted, .ends: break
            }
        }
        let now = self.now
        let changed = try await self.ledger.change(stored) { record in
            for finding in findings {
                switch finding.verdict {
                case .discounted(let code, let message): record.discount(finding.index, code, message, at: now)
                case .ends(let state, let code, let message): record.end(state, code, message, at: now)
                case .counts, .silent: break
                }
            }
            if oldest > record.terms.validFor {
                record.end(.lapsed, .lapsed, "The approval is too old to be used", at: now)
            }
        }
        if isSilent, changed.record.state == .approved { return nil }
        return (changed, approvals, now.subtractingSaturated(oldest))
    }

    private func verdict(_ index: Int, _ record: QuestionRecord) async throws -> Verdict {
        let part = record.parts[index]
        guard let id = part.operationID, let evidence = part.evidence else {
            return .ends(.mismatched, .bindingMismatch, "The ledger has no operation of \(part.person)")
        }
        let answer: Dated<ApprovalOperation>
        do {
            answer = try await self.server.show(operation: id)
        } catch {
            if error.kind == .canceled { throw CancellationError() }
            self.note(error, record)
            return .silent
        }
        self.note(answer.date)
        let operation = answer.value
        switch try record.read(operation, index) {
        case .mismatch(let objection):
            return .ends(.mismatched, .bindingMismatch, "The server shows something else: \(objection)")
        case .unreadable where evidence == .answer:
            return .ends(.failed, .cannotVerify, "The server no longer shows the data that were signed")
        case .verified, .unreadable: break
        }
        guard operation.status == "APPROVED" else {
            return ApprovalState.serverEnds.contains(operation.status) || operation.status == "PENDING"
                ? .ends(.mismatched, .bindingMismatch, "The server no longer says that it was approved") : .silent
        }
        if let factors = record.terms.factors {
            guard let used = operation.factors else {
                return .ends(.failed, .cannotVerify, "The server does not tell the factors, which the request demands")
            }
            guard factors.contains(where: { $0.isExactly(used) }) else {
                return .discounted(
                    .deviceNotAccepted,
                    "\(part.person) approved with other factors than the request demands"
                )
            }
        }
        if let objection = try await self.objection(toDeviceOf: operation, index, record) { return objection }
        if let isEligible = self.configuration.isEligible, await !isEligible(part.person) {
            return .discounted(.failed, "\(part.person) may no longer approve")
        }
        // Without the server's time in the answer, and without its stamp, what this clock says.
        let age = ApprovalAge.age(
            answered: answer.date ?? self.now,
            finalized: operation.finalized,
            lastPending: part.lastPending
        )
        guard let age else { return .ends(.lapsed, .lapsed, "A clock went back: nobody knows how old the approval is") }
        let approval = PersonalApproval(
            person: part.person,
            userID: part.person.user,
            operationID: id,
            signedData: operation.data ?? part.signedData,
            registrationID: operation.registrationID,
            factors: operation.factors,
            approvedAt: operation.finalized.map(Date.init(milliseconds:)),
            evidence: evidence
        )
        return .counts(approval, age: age)
    }

    /// Returns why the device that decided does not count; `nil` when it does.
    private func objection(
        toDeviceOf operation: ApprovalOperation,
        _ index: Int,
        _ record: QuestionRecord
    ) async throws -> Verdict? {
        let (terms, part) = (record.terms, record.parts[index])
        guard let id = operation.registrationID else {
            guard terms.devices != nil || terms.minimumDeviceAge != nil else { return nil }
            return .ends(.failed, .cannotVerify, "The server does not tell the device, which the request demands")
        }
        let registration: ApprovingRegistration
        do {
            let answer = try await self.server.show(registration: id)
            self.note(answer.date)
            registration = answer.value
        } catch {
            if error.kind == .canceled { throw CancellationError() }
            self.note(error, record)
            guard error.kind == .notFound else { return .silent }
            return .discounted(.deviceNotAccepted, "The server does not know the device that decided")
        }
        guard registration.id.isExactly(id), registration.userID.isExactly(part.person.user) else {
            return .discounted(.deviceNotAccepted, "The device that decided is not of \(part.person)")
        }
        if let devices = terms.devices {
            if devices.contains(where: { $0.isExactly(id) }) { return nil }
            guard terms.minimumDeviceAge != nil else {
                return .discounted(.deviceNotAccepted, "The device that decided is none of those named")
            }
        }
        guard let enrolled = registration.created, let asked = part.created else {
            return .ends(.failed, .cannotVerify, "The server does not tell how old the device is")
        }
        guard asked.subtractingSaturated(enrolled) >= terms.minimumDeviceAge ?? 0 else {
            return .discounted(.deviceNotAccepted, "The device that decided was enrolled too late to count")
        }
        return nil
    }
}

extension ApprovalState {
    /// The statuses by which the server says that an operation is over.
    static let serverEnds: Set<String> = ["APPROVED", "REJECTED", "CANCELED", "EXPIRED", "FAILED"]
}
