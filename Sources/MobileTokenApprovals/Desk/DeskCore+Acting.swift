import Basics
import Coordination
import Foundation
import MobileTokenCloud

extension DeskCore {
    /// The time between the last look at the server and the first instruction of the action.
    static let freshness = Duration.seconds(5)

    /// The right to act, once.
    struct Claimed: Sendable {
        let stored: Stored
        let token: Int64
        let approvals: [PersonalApproval]
        let fingerprint: String
        let notAfter: Int64
        /// The time when the last look at the server was sent.
        let looked: Duration
    }

    /// Looks at every counted operation once more, and begins the action.
    ///
    /// - Parameter decided: The question as it was read or written a moment ago.
    /// - Throws: ``ApprovalError`` when it may not begin. Nothing runs then.
    func claim(_ decided: Stored) async throws -> Claimed {
        let key = decided.record.key
        var current: Stored? = decided
        var wait = Duration.seconds(1)
        while true {
            try Task.checkCancellation()
            let known: Stored
            if let current { known = current } else { known = try await self.loaded(key) }
            current = nil
            let stored = try await self.followed(known)
            guard stored.record.state == .approved, !stored.isForeign else { throw stored.record.refusal }
            guard let (checked, approvals, oldest, looked) = try await self.check(stored) else {
                // No answer that tells: once more, until the approval is too old.
                try await self.clock.sleep(until: self.clock.now + wait)
                wait = min(wait * 2, .seconds(10))
                continue
            }
            guard checked.record.state == .approved else {
                self.report(.changed, checked.record)
                _ = try? await self.step(key)
                throw checked.record.refusal
            }
            // A slow server does not burn the approval: another look may be quick enough.
            guard self.clock.now - looked <= Self.freshness else { continue }
            guard let (claimed, token) = try await self.begin(checked) else { continue }
            self.report(.changed, claimed.record)
            return Claimed(
                stored: claimed,
                token: token,
                approvals: approvals,
                fingerprint: checked.record.fingerprint,
                notAfter: oldest.addingSaturated(checked.record.terms.validFor),
                looked: looked
            )
        }
    }

    /// Writes the claim. Its lease is held before, so that nobody takes it for one whose holder is gone.
    private func begin(_ stored: Stored) async throws -> (Stored, token: Int64)? {
        let token = Int64.random(in: 0 ... .max)
        try await self.ledger.hold(token)
        var record = stored.record
        do {
            guard record.claim(token: token, at: self.now) else { throw record.refusal }
            guard let claimed = try await self.ledger.swap(stored, to: record) else {
                await self.ledger.release(token)
                return nil
            }
            return (claimed, token)
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
        let key = claimed.stored.record.key
        var finished: Stored?
        do {
            let changed = try await self.ledger.change(claimed.stored) {
                _ = $0.performed(claimed.token, state, at: self.now)
            }
            await self.ledger.release(claimed.token)
            self.report(changed.record.state == state ? .changed : .outcomeNotRecorded, changed.record)
            finished = changed
        } catch {
            // Nobody holds the claim any more: whoever looks next finds `unknown`.
            await self.ledger.release(claimed.token)
            self.withState { $0.lastError = "\(error)" }
            if let stored = try? await self.ledger.load(key) {
                self.report(.outcomeNotRecorded, stored.record, "\(error)")
            } else {
                self.report(.outcomeNotRecorded, "", claimed.fingerprint, .unknown, "\(error)")
            }
        }
        let signals = self.withState { $0.signals(for: key) }
        for signal in signals { signal.raise() }
        // One more step cancels the operations of those who have not answered, if there are any.
        if let finished, !finished.record.needsAttention {
            self.plan(finished.record)
        } else {
            _ = try? await self.step(key)
        }
    }

    // MARK: Step (3)

    /// With when the first request was sent.
    private typealias Checked = (stored: Stored, approvals: [PersonalApproval], oldest: Int64, looked: Duration)
    private typealias Finding = (index: Int, verdict: Verdict)

    private enum Verdict: Sendable {
        /// With the age of the approval, in milliseconds.
        case counts(PersonalApproval, age: Int64)
        case discounted(ApprovalError.Code, String)
        case ends(ApprovalState, ApprovalError.Code, String)
        /// Somebody whose answer is not needed has not said no.
        case undecided
        /// No answer that tells.
        case silent
    }

    /// Returns `nil` when the server does not tell. A question that may not be acted on has another state afterwards.
    private func check(_ stored: Stored) async throws -> Checked? {
        let record = stored.record
        let counted = record.parts.indices.filter { record.parts[$0].answer == .approved }
        // A request that waits for its turn is not sent yet. Each approval may need a look at its device, too.
        do { try await self.server.waitForTurns(counted.count * 2 + record.mayObject.count) } catch {
            throw CancellationError()
        }
        let looked = self.clock.now
        let findings = try await withThrowingTaskGroup(of: Finding.self) { group in
            for index in counted { group.addTask { (index, try await self.verdict(index, record)) } }
            for index in record.mayObject { group.addTask { (index, try await self.objection(by: index, record)) } }
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
            case .discounted, .ends, .undecided: break
            }
        }
        let now = self.now
        var changed = record
        for finding in findings {
            switch finding.verdict {
            case .discounted(let code, let message): changed.discount(finding.index, code, message, at: now)
            case .ends(let state, let code, let message): changed.end(state, code, message, at: now)
            case .counts, .undecided, .silent: break
            }
        }
        if oldest > record.terms.validFor {
            changed.end(.lapsed, .lapsed, "The approval is too old to be used", at: now)
        }
        var result = stored
        if changed != record {
            // Findings hold for the record that was looked at. Whoever was quicker may have claimed it, or heard another answer.
            guard let swapped = try await self.ledger.swap(stored, to: changed) else { return nil }
            result = swapped
        }
        if isSilent, changed.state == .approved { return nil }
        return (result, approvals, now.subtractingSaturated(oldest), looked)
    }

    /// Asks for the "no" of somebody who has not answered yet.
    private func objection(by index: Int, _ record: QuestionRecord) async throws -> Verdict {
        guard let id = record.parts[index].operationID else { return .undecided }
        do {
            let answer = try await self.server.unpaced.show(operation: id)
            self.note(answer.date)
            guard answer.value.status == .rejected else { return .undecided }
            return .ends(.rejected, .rejected, "\(record.parts[index].person) rejected it")
        } catch {
            if error.kind == .canceled { throw CancellationError() }
            self.note(error, record)
            return error.kind == .notFound ? .undecided : .silent
        }
    }

    private func verdict(_ index: Int, _ record: QuestionRecord) async throws -> Verdict {
        let part = record.parts[index]
        guard let id = part.operationID, let evidence = part.evidence else {
            return .ends(.mismatched, .bindingMismatch, "The ledger has no operation of \(part.person)")
        }
        let answer: Dated<ApprovalOperation>
        do {
            answer = try await self.server.unpaced.show(operation: id)
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
        guard operation.status == .approved else {
            return ApprovalState.serverEnds.contains(operation.status) || operation.status == .pending
                ? .ends(.mismatched, .bindingMismatch, "The server no longer says that it was approved") : .silent
        }
        if let (code, message) = record.objectionToSignature(index) { return .ends(.failed, code, message) }
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
        if let finalized = operation.finalized,
            finalized > operation.expires.addingSaturated(QuestionRecord.expiryTolerance)
        {
            return .ends(.expired, .expired, "It was approved after its time was over")
        }
        // Without the server's time in the answer, what this clock says, put right by what is known of the server's.
        let age = ApprovalAge.age(
            answered: answer.date ?? self.serverNow,
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
            let answer = try await self.server.unpaced.show(registration: id)
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
        guard registration.status == "ACTIVE" else {
            return .discounted(.deviceNotAccepted, "The device that decided is no longer active")
        }
        if let devices = terms.devices {
            if devices.contains(where: { $0.isExactly(id) }) { return nil }
            guard terms.minimumDeviceAge != nil else {
                return .discounted(.deviceNotAccepted, "The device that decided is none of those named")
            }
        }
        guard let enrolled = registration.created, let asked = record.parts.compactMap(\.created).min() else {
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
    static let serverEnds: Set<CloudClient.OperationStatus> = [.approved, .rejected, .canceled, .expired, .failed]
}
