import EmulatorBackend
import EmulatorMessages
import Foundation
import Synchronization

// The API requests and their faults.
extension EmulatorCore {
    /// A request in progress.
    struct Visit: Sendable {
        var request: ReceivedRequest
        let caller: Backend.Caller
        /// The virtual device that sent it.
        let device: DeviceCaller?
        var fault: FaultInjector.Strike?
        /// The time that it was postponed, in seconds.
        var wait: Double?

        var effect: FaultRule.Effect { self.fault?.effect ?? FaultRule.Effect() }
    }

    /// Responds to an API request, with faults.
    ///
    /// - Parameters:
    ///   - caller: The origin of the request.
    ///   - device: The virtual device that sent it.
    func respond(
        to request: ReceivedRequest,
        from caller: Backend.Caller = .network,
        ofDevice device: DeviceCaller? = nil
    ) async -> ServerResponse {
        let fault = self.faults.fault(
            method: request.method,
            path: request.path,
            activationID: self.activationID(of: request, from: caller),
            using: &self.faultRandomness
        )
        do { try await fault?.wait(by: self.clock) } catch { return .lost }
        var visit = Visit(request: request, caller: caller, device: device, fault: fault)
        visit.effect.strip(from: &visit.request)
        guard let seconds = visit.effect.hold ?? visit.effect.late else { return await self.carryOut(visit) }
        let (answers, answer) = AsyncStream.makeStream(of: ServerResponse.self)
        let isHeld = visit.effect.hold != nil
        let isKept = self.postponed.append(visit, bySeconds: seconds, at: self.now.milliseconds, isHeld ? answer : nil)
        guard isKept else {
            let refusal = Refusal.capacityExceeded("There is no room for one more held or late request")
            var response = refusal.response
            response.journalEntry = self.note(visit, Reply(refusal), userID: nil, at: self.now)
            return response
        }
        self.send(.faults)
        guard isHeld else { return await self.carryOut(visit) }
        for await response in answers { return response }
        return .lost
    }

    /// Executes a request, or lets its fault respond instead.
    private func carryOut(_ visit: Visit) async -> ServerResponse {
        // The keys and counters predate a restored state.
        if let device = visit.device, device.epoch != self.devices.epoch { return .lost }
        var reply = await self.judge(visit, isRepetition: false)
        if let answer = visit.effect.repeat, !visit.effect.standsIn {
            let repeated = await self.judge(visit, isRepetition: true)
            if answer == .second { reply = repeated }
        }
        return visit.effect.spoil(reply.response, self.clock)
    }

    private func judge(_ visit: Visit, isRepetition: Bool) async -> Reply {
        let now = self.now
        var reply =
            visit.effect.replyInstead
            ?? self.backend.reply(
                to: visit.request,
                from: visit.caller,
                at: now,
                clockSkew: visit.effect.clockSkew ?? 0
            )
        let (announcements, userID) = self.backend.told(of: reply)
        // A page in the server's place is a proxy's, which knows no journal.
        let number = reply.status >= 400 && visit.effect.page == nil ? EntryNumber() : nil
        let failure = await self.commit { [reply] core in
            core.tell(announcements)
            core.send(reply.pushes)
            let id = core.note(visit, reply, userID: userID, at: now, isRepetition: isRepetition)
            number?.value.store(id, ordering: .relaxed)
        }
        if let failure {
            reply = failure
            let id = self.note(visit, reply, userID: userID, at: now, isRepetition: isRepetition)
            if visit.effect.page == nil { reply.response.journalEntry = id }
        } else {
            reply.response.journalEntry = number?.value.load(ordering: .relaxed)
        }
        return reply
    }

    /// Adds a request to the journal.
    ///
    /// - Returns: The number of its entry.
    private func note(
        _ visit: Visit,
        _ reply: Reply,
        userID: String?,
        at now: Date,
        isRepetition: Bool = false
    ) -> UInt64 {
        let entry = self.journal.append(
            visit.request,
            reply: reply,
            fault: visit.fault?.name,
            faultEffect: visit.fault?.account(of: visit, isRepetition: isRepetition),
            deviceName: visit.device?.name,
            userID: userID,
            at: now
        )
        self.tell(of: entry)
        return entry.id
    }

    /// Returns the activation that a request names, which only the backend can determine from a token. The backend is a value, so
    /// a copy executes the request. This second execution happens only if a fault rule names an activation, as in tests.
    private func activationID(of request: ReceivedRequest, from caller: Backend.Caller) -> String? {
        var trial = self.backend
        return trial.reply(to: request, from: caller, at: self.now).activationID
    }

    // MARK: Postponed requests

    /// Executes postponed requests in their order.
    func carryOutPostponed(where isMeant: (PostponedRequests.Element) -> Bool) async {
        while let element = self.postponed.takeNext(where: isMeant) {
            var visit = element.visit
            visit.wait = Double(self.now.milliseconds - element.since) / 1000
            visit.fault?.effect.carryOutNow()
            let response = await self.carryOut(visit)
            element.answer?.yield(response)
            element.answer?.finish()
            self.send(.faults)
        }
    }

    /// Drops all postponed requests without executing them; waiting clients get no response.
    func forgetPostponed() {
        for element in self.postponed.removeAll() { element.answer?.finish() }
    }

    // MARK: Fault rules

    var faultRules: [FaultRule] { self.faults.rules }

    /// The requests matched by each rule, in the order of the rules.
    var faultCounts: [FaultRule.Count] {
        self.faults.counts.map { count in
            var count = count
            count.waiting = self.postponed.elements.count { $0.visit.fault?.name == count.name }
            count.waiting += self.callbackQueue.outbox.postponedCount(by: count.name)
            return count
        }
    }

    func setFaults(_ rules: [FaultRule]) async {
        self.faults.rules = rules
        self.send(.faults)
        await self.releaseFaults(named: nil)
    }

    /// - Returns: `false` if that would exceed `count`; nothing is added then.
    @discardableResult
    func addFaults(_ rules: [FaultRule], upTo count: Int = .max) -> Bool {
        guard self.faults.rules.count + rules.count <= count else { return false }
        for rule in rules { self.faults.append(rule) }
        self.send(.faults)
        return true
    }

    /// Removes the rules of a name, and executes the requests they postponed.
    func removeFaults(named name: String) async {
        self.faults.remove(named: name)
        self.send(.faults)
        await self.releaseFaults(named: name)
    }

    /// Executes the requests that rules postponed.
    func releaseFaults(named name: String?) async {
        let now = self.now.milliseconds
        self.callbackQueue.change { $0.release(postponedBy: name, at: now) }
        await self.carryOutPostponed { name == nil || $0.visit.fault?.name == name }
    }
}

extension Backend {
    /// Returns what is told of a reply. It changes nothing, and is `mutating` only because the actor would copy its backend for a call
    /// that is not.
    fileprivate mutating func told(of reply: Reply) -> (announcements: [Announcement], userID: String?) {
        (reply.events.map { self.announcement(of: $0) }, self.userID(of: reply))
    }
}

/// The number of a request's journal entry, which is written when its change is durable.
private final class EntryNumber: Sendable {
    let value = Atomic<UInt64>(0)
}

extension ServerResponse {
    /// No response: the connection breaks.
    static let lost = Self(status: 503, body: .reset)
}
