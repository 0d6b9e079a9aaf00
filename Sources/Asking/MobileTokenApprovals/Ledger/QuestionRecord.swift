import Basics

/// A question in the ledger, with its people and progress. Times are in milliseconds since 1970.
///
/// A value with pure steps: its functions derive the consequences of answers; others send, write and wait.
struct QuestionRecord: Sendable, Equatable {
    /// The reason of an end: a code and a message.
    struct Reason: Sendable, Equatable, Decodable {
        var code: String
        var message: String
    }

    /// The begun action.
    struct Claim: Sendable, Equatable, Decodable {
        var token: Int64
        var at: Int64
    }

    /// The end of an action as settled by a person.
    struct Settled: Sendable, Equatable, Decodable {
        var outcome: ApprovalTicket.Settlement
        var person: String
        var at: Int64
    }

    let fixed: FixedTerms
    let asked: Int64
    /// Incremented by each write: a restored earlier row has a lower one.
    var revision: UInt32 = 0
    private(set) var state = ApprovalState.drafted
    private(set) var parts: [Part]
    /// The time of the last required approval, by the desk's clock.
    private(set) var approved: Int64?
    /// The time of its end, by the desk's clock.
    private(set) var ended: Int64?
    private(set) var reason: Reason?
    private(set) var claim: Claim?
    private(set) var settled: Settled?

    var terms: Terms { self.fixed.terms }
    var key: LedgerKey { self.fixed.key }

    func question(_ index: Int) -> Question { self.fixed.question(to: self.parts[index].person) }
    func binding(_ index: Int) throws -> Binding { try self.wording(index).binding }
    /// Returns the text of a person's question.
    func wording(_ index: Int) throws -> Wording { try self.fixed.wording(index, to: self.parts[index].person) }
    /// The first person's fingerprint; with several people, each has their own.
    var fingerprint: String { (try? self.binding(0).fingerprint) ?? "" }

    // MARK: Transitions

    /// Moves to a successor state, and returns whether it did. A final state stays.
    @discardableResult
    private mutating func move(to state: ApprovalState, at now: Int64, _ reason: Reason? = nil) -> Bool {
        guard self.state.successors.contains(state) else { return false }
        self.state = state
        if let reason { self.reason = reason }
        if state.isFinal { self.ended = now }
        return true
    }

    /// Ends a question that was not acted on.
    @discardableResult
    mutating func end(_ state: ApprovalState, _ code: ApprovalError.Code, _ message: String, at now: Int64) -> Bool {
        // Only the holder of a claim records its end.
        guard self.state != .claimed else { return false }
        return self.move(to: state, at: now, Reason(code: code.description, message: message))
    }

    /// Gives up a question of another epoch, or with a lost holder.
    mutating func loseTrack(_ message: String, at now: Int64) {
        let reason = Reason(code: ApprovalError.Code.alreadyPerformed.description, message: message)
        _ = self.move(to: .unknown, at: now, reason)
    }

    mutating func claim(token: Int64, at now: Int64) -> Bool {
        guard self.move(to: .claimed, at: now) else { return false }
        self.claim = Claim(token: token, at: now)
        return true
    }

    mutating func performed(_ token: Int64, _ state: ApprovalState, at now: Int64) -> Bool {
        guard self.claim?.token == token else { return false }
        let reason = Reason(
            code: ApprovalError.Code.lapsed.description,
            message: "Too much time passed before the action could begin"
        )
        return self.move(to: state, at: now, state == .lapsed ? reason : nil)
    }

    mutating func settle(_ outcome: ApprovalTicket.Settlement, by person: String, at now: Int64) -> Bool {
        guard self.move(to: .settled, at: now) else { return false }
        self.settled = Settled(outcome: outcome, person: person, at: now)
        return true
    }

    // MARK: Asking

    /// Returns the people whose operation must be created now.
    ///
    /// - Parameter patience: The time in milliseconds after which an unanswered creation can no longer arrive.
    func toSend(at now: Int64, patience: Int64) -> [Int] {
        guard self.mayAsk(at: now) else { return [] }
        var indices: [Int] = []
        for (index, part) in self.parts.enumerated() {
            if part.mustBeSent(at: now, patience: patience) { indices.append(index) }
            // In sequence: later people wait until this one has answered.
            if self.terms.approvers.isInOrder, part.answer == .pending { break }
        }
        return indices
    }

    /// Returns the next time to repeat a lost creation; `nil` if none may be.
    func nextCreation(after date: Int64, patience: Int64) -> Int64? {
        self.parts.indices.compactMap { index in
            guard let sent = self.parts[index].sent else { return nil }
            let moment = max(date, sent.addingSaturated(patience))
            return self.toSend(at: moment, patience: patience).contains(index) ? moment : nil
        }.min()
    }

    /// Returns whether a person may still be asked before the deadline. In sequence, each person has the full time from the
    /// creation on.
    func mayAsk(at now: Int64) -> Bool {
        guard self.state.isPending else { return false }
        return self.terms.approvers.isInOrder
            || now.subtractingSaturated(self.asked) < self.terms.milliseconds
    }

    /// The time of an open question's last poll, by the desk's clock: people can no longer decide then, provided that a creation
    /// takes at most a second.
    var lastLook: Int64 {
        let asked = self.terms.approvers.isInOrder ? self.parts.compactMap(\.sent).max() ?? self.asked : self.asked
        return asked.addingSaturated(self.terms.milliseconds).addingSaturated(1_000)
    }

    /// Returns the time when an open question is given up, by the desk's clock: the last poll has its response, or gets none.
    ///
    /// - Parameter timeout: The maximum duration of a request, in milliseconds.
    func givenUp(timeout: Int64) -> Int64 { self.lastLook.addingSaturated(timeout) }

    /// Records a creation before it is sent.
    mutating func send(_ index: Int, at now: Int64) {
        self.parts[index].sent = now
        self.parts[index].attempts = self.parts[index].attempts.addingSaturated(1)
    }

    /// Records that a creation is sent later.
    mutating func postpone(_ index: Int, to now: Int64) { self.parts[index].sent = now }

    /// Records that a creation certainly failed.
    mutating func unsend(_ index: Int) {
        self.parts[index].sent = nil
        self.parts[index].attempts = max(0, self.parts[index].attempts.subtractingSaturated(1))
    }

    /// Accepts a created operation, or one found to be ours.
    ///
    /// - Returns: `true` for the one that counts. Any other must be canceled.
    mutating func adopt(
        _ operation: CloudClient.Operation,
        for index: Int,
        date: Int64?,
        data: String? = nil,
        evidence: PersonalApproval.Evidence,
        at now: Int64
    ) -> Bool {
        if let held = self.parts[index].operationID, !held.isExactly(operation.id) {
            self.addStray(operation.id, index)
            return false
        }
        self.parts[index].take(operation, date: date, evidence: evidence)
        self.parts[index].signedData = operation.data ?? data
        let areAllAsked = self.terms.approvers.isInOrder || self.parts.allSatisfy { $0.operationID != nil }
        if areAllAsked, self.state == .drafted { _ = self.move(to: .open, at: now) }
        return self.state.isPending
    }

    /// Records an extra operation, to be canceled.
    mutating func addStray(_ operationID: String, _ index: Int) {
        guard !self.parts[index].strays.contains(where: { $0.isExactly(operationID) }) else { return }
        self.parts[index].strays.append(operationID)
    }

    /// Indicates whether a creation was lost, so that the server may have an orphaned operation.
    var mayHaveStrays: Bool { self.parts.contains(where: \.mayHaveStrays) }

    /// The people that were certainly never asked.
    var neverAsked: [Approvers.Person] {
        self.parts.filter { $0.attempts == 0 && $0.operationID == nil }.map(\.person)
    }

    // MARK: Answers

    /// The people whose operation must be polled.
    var toPoll: [Int] {
        guard self.state.isPending else { return [] }
        return self.parts.indices.filter { self.parts[$0].operationID != nil && self.parts[$0].answer == .pending }
    }

    /// The people whose rejection would end a question with enough approvals.
    var mayObject: [Int] {
        guard self.terms.approvers.onRejection == .ends else { return [] }
        return self.parts.indices.filter {
            self.parts[$0].operationID != nil && self.parts[$0].answer == .pending && !self.parts[$0].isOver
        }
    }

    mutating func stillPending(_ index: Int, date: Int64?) {
        if let date { self.parts[index].lastPending = max(date, self.parts[index].lastPending ?? date) }
    }

    /// Applies the end of an operation.
    ///
    /// - Parameter signatures: The device's signatures from callbacks.
    mutating func answer(
        _ index: Int,
        _ answer: Part.Answer,
        _ operation: CloudClient.Operation,
        _ signatures: [String] = [],
        at now: Int64
    ) {
        guard self.state.isPending, self.parts[index].answer == .pending else { return }
        self.parts[index].close(answer, operation)
        if answer == .approved { self.checkSignature(index, or: signatures) }
        self.count(at: now)
    }

    /// Records that the server no longer knows a person's operation.
    mutating func forget(_ index: Int, at now: Int64) {
        guard self.state.isPending, self.parts[index].answer == .pending else { return }
        self.parts[index].answer = .forgotten
        self.parts[index].isOver = true
        self.count(at: now)
    }

    /// Returns the message about a forgotten operation.
    func forgotten(_ index: Int) -> String {
        "The server no longer knows the operation by which it asked \(self.parts[index].person)"
    }

    /// Accepts an approval by the device's signature, or discounts it.
    private mutating func checkSignature(_ index: Int, or others: [String]) {
        guard self.terms.deviceKeys != nil else { return }
        // A valid signature counts, whatever its source.
        for signature in others where self.objectionToSignature(index) != nil {
            let shown = self.parts[index].deviceSignature
            self.parts[index].deviceSignature = signature
            if self.objectionToSignature(index) != nil, shown != nil { self.parts[index].deviceSignature = shown }
        }
        if self.objectionToSignature(index) == nil {
            self.parts[index].evidence = .deviceSignature
            self.parts[index].signedData = try? self.expectedData(index)
        } else {
            self.parts[index].answer = .discounted
        }
    }

    /// Discounts the approval of a person who no longer counts.
    mutating func discount(_ index: Int, _ code: ApprovalError.Code, _ message: String, at now: Int64) {
        guard self.state == .approved else { return }
        self.parts[index].answer = .discounted
        switch self.tally {
        case .approved: break
        case .open, .impossible: self.end(.failed, code, message, at: now)
        }
    }

    private var tally: Approvers.Tally {
        self.terms.approvers.tally(
            approved: self.parts.count { $0.answer == .approved },
            lost: self.parts.count { $0.answer != .approved && $0.answer != .pending },
            rejected: self.parts.count { $0.answer == .rejected }
        )
    }

    private mutating func count(at now: Int64) {
        guard self.state.isPending else { return }
        switch self.tally {
        case .approved:
            if self.move(to: .approved, at: now) { self.approved = now }
        case .open: break
        case .impossible: self.endByAnswers(at: now)
        }
    }

    private mutating func endByAnswers(at now: Int64) {
        if let part = self.parts.first(where: { $0.answer == .rejected }) {
            // The protocol's word for no reason.
            let reason = part.reason.flatMap { $0 == "UNKNOWN" ? nil : ": \($0)" } ?? ""
            self.end(.rejected, .rejected, "\(part.person) rejected it" + DisplayText.escaped(reason), at: now)
        } else if let part = self.parts.first(where: { $0.answer == .canceled }) {
            let reason = part.reason.map { ": \($0)" } ?? ""
            self.end(.canceled, .canceled, "It was canceled at the server" + DisplayText.escaped(reason), at: now)
        } else if let index = self.parts.firstIndex(where: { $0.answer == .discounted }) {
            let (code, message) = self.objectionToSignature(index) ?? (.failed, "An approval does not count")
            self.end(.failed, code, message, at: now)
        } else if let index = self.parts.firstIndex(where: { $0.answer == .forgotten }) {
            self.end(.failed, .failed, self.forgotten(index), at: now)
        } else if self.parts.contains(where: { $0.answer == .expired }) {
            self.end(.expired, .expired, "Nobody decided in time", at: now)
        } else {
            self.end(.failed, .failed, "The server lets nobody approve it any more", at: now)
        }
    }

    /// Ends overdue parts by the desk's own clock: an unanswered question, an unused approval, and the search for operations of
    /// lost creations.
    ///
    /// - Parameters:
    ///   - patience: The time in milliseconds after which an unanswered creation can no longer arrive.
    ///   - timeout: The maximum duration of a request, in milliseconds.
    mutating func expire(at now: Int64, patience: Int64, timeout: Int64) {
        // Not in the step that ends it, which still reports the people never asked.
        if self.state.isFinal { self.forgetLostCreations(at: now, patience: patience) }
        if let approved, self.state == .approved, now.subtractingSaturated(approved) > self.terms.validFor {
            self.end(.lapsed, .lapsed, "The approval was not used in time", at: now)
        }
        if now >= self.givenUp(timeout: timeout) { self.giveUp(at: now) }
    }

    /// Ends an open question after its deadline.
    mutating func giveUp(at now: Int64) {
        guard self.state.isPending else { return }
        self.end(.expired, .expired, "Nobody decided in time, as far as the server has told", at: now)
    }

    /// Stops looking for operations of lost creations once these would be over.
    private mutating func forgetLostCreations(at now: Int64, patience: Int64) {
        let lifetime = patience.addingSaturated(self.terms.milliseconds)
        for index in self.parts.indices where self.parts[index].mayHaveStrays {
            // None was sent after the end.
            let sent = self.parts[index].sent ?? self.ended ?? now
            if now.subtractingSaturated(sent) > lifetime { self.parts[index].forgetLostCreations() }
        }
    }

    // MARK: Canceling

    /// The operations to cancel at the server.
    var toCancel: [String] {
        let strays = self.parts.flatMap(\.strays)
        guard !self.state.isPending else { return strays }
        return strays + self.parts.compactMap { $0.answer == .pending && !$0.isOver ? $0.operationID : nil }
    }

    /// Records the end of an operation. An approval is then surplus; a rejection before the cancellation counts while nothing has
    /// been done.
    mutating func isOver(_ operation: CloudClient.Operation, at now: Int64) {
        self.isOver(operation.id)
        for index in self.parts.indices where self.parts[index].operationID?.isExactly(operation.id) == true {
            if operation.status == .approved { self.parts[index].isSurplus = true }
            guard operation.status == .rejected, self.state == .approved, self.parts[index].answer == .pending else {
                continue
            }
            self.parts[index].close(.rejected, operation)
            if self.tally == .impossible { self.endByAnswers(at: now) }
        }
    }

    /// Records that the server no longer has an operation.
    mutating func isOver(_ operationID: String) {
        for index in self.parts.indices {
            self.parts[index].strays.removeAll { $0.isExactly(operationID) }
            if self.parts[index].operationID?.isExactly(operationID) == true { self.parts[index].isOver = true }
        }
    }

    /// Indicates whether the question needs another step.
    var needsAttention: Bool {
        self.state.isPending || self.state == .approved || self.state == .claimed || !self.toCancel.isEmpty
            || self.mayHaveStrays
    }
}
