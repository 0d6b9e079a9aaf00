import Basics
import Coordination
import MobileTokenCloud

extension DeskCore {
    /// The maximum time between the last check at the server and the first instruction of the action.
    static let freshness = Duration.seconds(5)

    /// The right to act once.
    struct Claimed: Sendable {
        let stored: Stored
        let token: Int64
        let approvals: [PersonalApproval]
        let fingerprint: String
        let notAfter: Int64
        /// The time when the last check was sent.
        let looked: Duration
    }

    /// Checks every counted operation again, and begins the action.
    ///
    /// - Parameter decided: The question as just read or written.
    /// - Throws: ``ApprovalError`` if the action may not begin. Nothing runs then.
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
                // No verdict: retry until the approval is too old.
                try await self.clock.sleep(until: self.clock.now + wait)
                wait = min(wait * 2, .seconds(10))
                continue
            }
            guard checked.record.state == .approved else {
                self.report(.changed, checked.record)
                _ = await self.told(checked)
                throw checked.record.refusal
            }
            // A slow server does not consume the approval: another check may be fast enough.
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

    /// Writes the claim. It holds the lease first, so that the claim never appears orphaned.
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
            // If the claim was written after all, it now has no holder.
            await self.ledger.release(token)
            throw error
        }
    }

    /// Returns whether the right is still valid.
    func isFresh(_ claimed: Claimed) -> Bool { self.clock.now - claimed.looked <= Self.freshness }

    /// Records the end of an action.
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
            // Without a holder, the next reader of the claim finds `unknown`.
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
        // One more step cancels the operations of people who have not answered.
        if let finished {
            self.plan(finished.record, isNew: true)
            _ = await self.told(finished)
        } else {
            _ = try? await self.step(key)
        }
    }

    // MARK: Step (3)

    /// The question with the time when the first request was sent.
    private typealias Checked = (stored: Stored, approvals: [PersonalApproval], oldest: Int64, looked: Duration)
    private typealias Finding = (index: Int, verdict: Verdict)

    private enum Verdict: Sendable {
        /// Counts, with the approval's age in milliseconds.
        case counts(PersonalApproval, age: Int64)
        case discounted(ApprovalError.Code, String)
        case ends(ApprovalState, ApprovalError.Code, String)
        /// A person whose answer is not needed has not rejected.
        case undecided
        /// No verdict.
        case silent
    }

    /// Returns `nil` if the server gives no verdict. A question that may not be acted on has another state afterwards.
    private func check(_ stored: Stored) async throws -> Checked? {
        let record = stored.record
        let counted = record.parts.indices.filter { record.parts[$0].answer == .approved }
        // A request that waits for its turn is not sent yet. Each approval may need a second request for its device.
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
            // Findings apply only to the checked record. Another process may have claimed it, or received another answer.
            guard let swapped = try await self.ledger.swap(stored, to: changed) else { return nil }
            result = swapped
        }
        if isSilent, changed.state == .approved { return nil }
        return (result, approvals, now.subtractingSaturated(oldest), looked)
    }

    /// Checks for a rejection by a person who has not answered yet.
    private func objection(by index: Int, _ record: QuestionRecord) async throws -> Verdict {
        guard let id = record.parts[index].operationID else { return .undecided }
        do {
            let answer = try await self.server.show(id, isAdmitted: true)
            guard answer.value.status == .rejected else { return .undecided }
            return .ends(.rejected, .rejected, "\(record.parts[index].person) rejected it")
        } catch {
            if error.code == .canceled { throw CancellationError() }
            self.note(error, record)
            return error.kind == .notFound ? .undecided : .silent
        }
    }

    private func verdict(_ index: Int, _ record: QuestionRecord) async throws -> Verdict {
        let part = record.parts[index]
        guard let id = part.operationID, let evidence = part.evidence else {
            return .ends(.mismatched, .bindingMismatch, "The ledger has no operation of \(part.person)")
        }
        let answer: CloudResponse<CloudClient.Operation>
        do {
            answer = try await self.server.show(id, isAdmitted: true)
        } catch {
            if error.code == .canceled { throw CancellationError() }
            self.note(error, record)
            return error.kind == .notFound ? .ends(.failed, .failed, record.forgotten(index)) : .silent
        }
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
            finalized.milliseconds > operation.expires.milliseconds.addingSaturated(QuestionRecord.expiryTolerance)
        {
            return .ends(.expired, .expired, "It was approved after its time was over")
        }
        // Without the server's time in the response, the local clock corrected by the known offset.
        let age = ApprovalAge.age(
            answered: answer.date?.milliseconds ?? self.serverNow,
            finalized: operation.finalized?.milliseconds,
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
            approvedAt: operation.finalized,
            evidence: evidence
        )
        return .counts(approval, age: age)
    }

    /// Returns the reason why the deciding device does not count; `nil` if it does.
    private func objection(
        toDeviceOf operation: CloudClient.Operation,
        _ index: Int,
        _ record: QuestionRecord
    ) async throws -> Verdict? {
        let (terms, part) = (record.terms, record.parts[index])
        guard let id = operation.registrationID else {
            guard terms.devices != nil || terms.minimumDeviceAge != nil else { return nil }
            return .ends(.failed, .cannotVerify, "The server does not tell the device, which the request demands")
        }
        let registration: CloudClient.Registration
        do {
            let answer = try await self.server.call(isAdmitted: true) { try await $0.registration(id) }
            registration = answer.value
        } catch {
            if error.code == .canceled { throw CancellationError() }
            self.note(error, record)
            guard error.kind == .notFound else { return .silent }
            return .discounted(.deviceNotAccepted, "The server does not know the device that decided")
        }
        guard registration.userID.isExactly(part.person.user) else {
            return .discounted(.deviceNotAccepted, "The device that decided is not of \(part.person)")
        }
        guard registration.status == .active else {
            return .discounted(.deviceNotAccepted, "The device that decided is no longer active")
        }
        if let devices = terms.devices {
            if devices.contains(where: { $0.isExactly(id) }) { return nil }
            guard terms.minimumDeviceAge != nil else {
                return .discounted(.deviceNotAccepted, "The device that decided is none of those named")
            }
        }
        guard let asked = record.parts.compactMap(\.created).min() else {
            return .ends(.failed, .cannotVerify, "The server does not tell how old the device is")
        }
        guard asked.subtractingSaturated(registration.created.milliseconds) >= terms.minimumDeviceAge ?? 0 else {
            return .discounted(.deviceNotAccepted, "The device that decided was enrolled too late to count")
        }
        return nil
    }
}

extension ApprovalState {
    /// The server's final operation statuses.
    static let serverEnds: Set<CloudClient.OperationStatus> = [.approved, .rejected, .canceled, .expired, .failed]
}
