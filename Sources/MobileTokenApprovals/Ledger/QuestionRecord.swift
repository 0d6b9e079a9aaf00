import Basics
import PowerAuthCrypto

/// A question as the ledger has it: what was asked, of whom, and how far it came. Times are in milliseconds since 1970.
///
/// A value that is stepped: its functions say what follows from an answer, and others send, write and wait.
struct QuestionRecord: Sendable, Equatable {
    /// The end that has a code and a sentence.
    struct Reason: Sendable, Equatable, Decodable {
        var code: String
        var message: String
    }

    /// The action that was begun.
    struct Claim: Sendable, Equatable, Decodable {
        var token: Int64
        var at: Int64
    }

    /// The end of an action, as somebody found it out.
    struct Settled: Sendable, Equatable, Decodable {
        var outcome: Settlement
        var person: String
        var at: Int64
    }

    let fixed: FixedTerms
    let asked: Int64
    /// Counted up by each write: an earlier row that is put back has a lower one.
    var revision: UInt32 = 0
    private(set) var state = ApprovalState.drafted
    private(set) var parts: [Part]
    /// The time when as many had approved as had to, by the desk's clock.
    private(set) var approved: Int64?
    /// The time when it came to its end, by the desk's clock.
    private(set) var ended: Int64?
    private(set) var reason: Reason?
    private(set) var claim: Claim?
    private(set) var settled: Settled?

    var terms: Terms { self.fixed.terms }
    var key: LedgerKey { self.fixed.key }

    func question(_ index: Int) -> Question { self.fixed.question(to: self.parts[index].person) }
    func binding(_ index: Int) throws -> Binding { try self.wording(index).binding }
    /// The words in which a person is asked.
    func wording(_ index: Int) throws -> Wording { try self.fixed.wording(index, to: self.parts[index].person) }
    /// That of the first person; with several, each has one of their own.
    var fingerprint: String { (try? self.binding(0).fingerprint) ?? "" }

    // MARK: Moving on

    /// Moves to a state if an arrow leads there, and returns whether it did. A final state stays.
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
        // Whoever has claimed it says how it ended, and nobody else.
        guard self.state != .claimed else { return false }
        return self.move(to: state, at: now, Reason(code: code.description, message: message))
    }

    /// Gives up what another incarnation of the ledger drafted, or whose holder is gone.
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

    mutating func settle(_ outcome: Settlement, by person: String, at now: Int64) -> Bool {
        guard self.move(to: .settled, at: now) else { return false }
        self.settled = Settled(outcome: outcome, person: person, at: now)
        return true
    }

    // MARK: Asking

    /// The people whose operation is to be created now.
    ///
    /// - Parameter patience: The time after which a creation without an answer cannot arrive any more, in milliseconds.
    func toSend(at now: Int64, patience: Int64) -> [Int] {
        guard self.state.isPending else { return [] }
        // Nobody is asked after the time in which the answer was wanted. One after the other, each has that time from the creation on.
        let isOver = now.subtractingSaturated(self.asked) >= self.terms.seconds * 1_000
        guard !isOver || self.terms.approvers.isInOrder else { return [] }
        var indices: [Int] = []
        for (index, part) in self.parts.enumerated() {
            if part.mustBeSent(at: now, patience: patience) { indices.append(index) }
            // One after the other: whoever comes later waits until this one has answered.
            if self.terms.approvers.isInOrder, part.answer == .pending { break }
        }
        return indices
    }

    /// The time when a lost creation is repeated next; `nil` when none may be.
    func nextCreation(after date: Int64, patience: Int64) -> Int64? {
        self.parts.indices.compactMap { index in
            guard let sent = self.parts[index].sent else { return nil }
            let moment = max(date, sent.addingSaturated(patience))
            return self.toSend(at: moment, patience: patience).contains(index) ? moment : nil
        }.min()
    }

    /// The time when a question that is still open is given up, by the desk's clock: an approval that was given in time, and can still be used, would
    /// be known by then.
    var givenUp: Int64? {
        guard self.state.isPending else { return nil }
        let limit = (self.terms.seconds * 1_000).addingSaturated(self.terms.validFor).addingSaturated(60_000)
        return self.asked.addingSaturated(limit).addingSaturated(1)
    }

    /// Notes, before it is sent, that a creation is.
    mutating func send(_ index: Int, at now: Int64) {
        self.parts[index].sent = now
        self.parts[index].attempts += 1
    }

    /// Notes that a creation is sent later than was noted.
    mutating func postpone(_ index: Int, to now: Int64) { self.parts[index].sent = now }

    /// Notes that a creation was certainly not carried out.
    mutating func unsend(_ index: Int) {
        self.parts[index].sent = nil
        self.parts[index].attempts -= 1
    }

    /// Takes an operation that was created, or that was found to be one of ours.
    ///
    /// - Returns: `true` for the one that counts. Another one is to be canceled.
    mutating func adopt(
        _ operation: ApprovalOperation,
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

    /// Notes an operation beside the one that counts, to be canceled.
    mutating func addStray(_ operationID: String, _ index: Int) {
        guard !self.parts[index].strays.contains(where: { $0.isExactly(operationID) }) else { return }
        self.parts[index].strays.append(operationID)
    }

    /// Indicates that a creation was lost, so that the server may have an operation that nobody knows.
    var mayHaveStrays: Bool { self.parts.contains(where: \.mayHaveStrays) }

    /// The people whom it certainly has not asked.
    var neverAsked: [Person] {
        self.parts.filter { $0.attempts == 0 && $0.operationID == nil }.map(\.person)
    }

    // MARK: Answers

    /// The people whose operation is to be looked at.
    var toPoll: [Int] {
        guard self.state.isPending else { return [] }
        return self.parts.indices.filter { self.parts[$0].operationID != nil && self.parts[$0].answer == .pending }
    }

    /// The people whose rejection would end a question that enough others have approved.
    var mayObject: [Int] {
        guard self.terms.approvers.onRejection == .ends else { return [] }
        return self.parts.indices.filter {
            self.parts[$0].operationID != nil && self.parts[$0].answer == .pending && !self.parts[$0].isOver
        }
    }

    /// Notes that an operation is still waiting.
    mutating func stillPending(_ index: Int, date: Int64?) {
        if let date { self.parts[index].lastPending = max(date, self.parts[index].lastPending ?? date) }
    }

    /// Takes the end of an operation, and draws the conclusion.
    ///
    /// - Parameter signatures: The device's own ones of which callbacks told.
    mutating func answer(
        _ index: Int,
        _ answer: Part.Answer,
        _ operation: ApprovalOperation,
        _ signatures: [String] = [],
        at now: Int64
    ) {
        guard self.state.isPending, self.parts[index].answer == .pending else { return }
        self.parts[index].close(answer, operation)
        if answer == .approved { self.checkSignature(index, or: signatures) }
        self.count(at: now)
    }

    /// Believes an approval by the device's signature, or lets it not count.
    private mutating func checkSignature(_ index: Int, or others: [String]) {
        guard self.terms.deviceKeys != nil else { return }
        // A valid signature counts, whoever delivers it.
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

    /// Strikes out a person who approved and no longer counts.
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
            let reason = part.reason.map { ": \($0)" } ?? ""
            self.end(.rejected, .rejected, "\(part.person) rejected it" + DisplayText.escaped(reason), at: now)
        } else if let part = self.parts.first(where: { $0.answer == .canceled }) {
            let reason = part.reason.map { ": \($0)" } ?? ""
            self.end(.canceled, .canceled, "It was canceled at the server" + DisplayText.escaped(reason), at: now)
        } else if let index = self.parts.firstIndex(where: { $0.answer == .discounted }) {
            let (code, message) = self.objectionToSignature(index) ?? (.failed, "An approval does not count")
            self.end(.failed, code, message, at: now)
        } else if self.parts.contains(where: { $0.answer == .expired }) {
            self.end(.expired, .expired, "Nobody decided in time", at: now)
        } else {
            self.end(.failed, .failed, "The server lets nobody approve it any more", at: now)
        }
    }

    /// Ends what has run out by the desk's own clock: a question without an answer, an approval that was not used, and the search for the
    /// operation of a creation that was lost.
    ///
    /// - Parameter patience: The time after which a creation without an answer cannot arrive any more, in milliseconds.
    mutating func expire(at now: Int64, patience: Int64) {
        // Not in the step that ends it, which still tells whom it certainly never asked.
        if self.state.isFinal { self.forgetLostCreations(at: now, patience: patience) }
        if let approved, self.state == .approved, now.subtractingSaturated(approved) > self.terms.validFor {
            self.end(.lapsed, .lapsed, "The approval was not used in time", at: now)
        }
        if let givenUp, now >= givenUp {
            self.end(.expired, .expired, "The server gave no answer in time", at: now)
        }
    }

    /// Looks no more for operations that lost creations made, once these would be over.
    private mutating func forgetLostCreations(at now: Int64, patience: Int64) {
        let lifetime = patience.addingSaturated(self.terms.seconds * 1_000)
        for index in self.parts.indices where self.parts[index].mayHaveStrays {
            // None was sent after the end.
            let sent = self.parts[index].sent ?? self.ended ?? now
            if now.subtractingSaturated(sent) > lifetime { self.parts[index].forgetLostCreations() }
        }
    }

    // MARK: Canceling

    /// The operations that the server must be told to forget.
    var toCancel: [String] {
        let strays = self.parts.flatMap(\.strays)
        guard !self.state.isPending else { return strays }
        return strays + self.parts.compactMap { $0.answer == .pending && !$0.isOver ? $0.operationID : nil }
    }

    /// Notes that an operation is over. One that was approved all the same is surplus; a "no" that came before it was canceled counts
    /// as long as nothing has been done.
    mutating func isOver(_ operation: ApprovalOperation, at now: Int64) {
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

    /// Notes that the server has an operation no more.
    mutating func isOver(_ operationID: String) {
        for index in self.parts.indices {
            self.parts[index].strays.removeAll { $0.isExactly(operationID) }
            if self.parts[index].operationID?.isExactly(operationID) == true { self.parts[index].isOver = true }
        }
    }

    /// Indicates that somebody has to look at it again.
    var needsAttention: Bool {
        self.state.isPending || self.state == .approved || self.state == .claimed || !self.toCancel.isEmpty
            || self.mayHaveStrays
    }
}

extension QuestionRecord {
    init(_ terms: Terms, at now: Int64) {
        let parts = terms.approvers.people.map { Part(person: $0) }
        self.init(fixed: FixedTerms(terms, nonce: SecureRandom.bytes(16)), asked: now, parts: parts)
    }

    /// The part of a question that one person decides.
    struct Part: Sendable, Equatable, Decodable {
        enum Answer: String, Sendable, Decodable {
            case pending, approved, rejected, expired, canceled, failed
            /// Approved, and found not to count.
            case discounted
        }

        let person: Person
        /// The time when a creation was sent last, by the desk's clock; `nil` when none is under way.
        var sent: Int64?
        var attempts = 0
        var operationID: String?
        var operationType: String?
        var created: Int64?
        var expires: Int64?
        var answer = Answer.pending
        /// The last time at which the server said, by its own clock, that it was pending.
        var lastPending: Int64?
        var finalized: Int64?
        var signedData: String?
        var registrationID: String?
        var factors: String?
        var reason: String?
        var evidence: PersonalApproval.Evidence?
        /// The device's own signature of the data, as the server handed it on.
        var deviceSignature: String?
        /// The server says that the operation is over.
        var isOver = false
        /// Approved after it was over for the asker.
        var isSurplus = false
        /// Operations that the server made beside the one that counts.
        var strays: [String] = []

        init(person: Person) { self.person = person }

        /// The number of creations whose fate may be unknown: each may have asked the person.
        private static let attemptLimit = 3

        func mustBeSent(at now: Int64, patience: Int64) -> Bool {
            guard self.operationID == nil, self.attempts < Self.attemptLimit else { return false }
            guard let sent else { return true }
            // A clock that went back does not shorten the wait.
            return now.subtractingSaturated(sent).magnitude >= patience.magnitude
        }

        /// Indicates that a creation was lost.
        var mayHaveStrays: Bool { self.attempts > (self.operationID == nil ? 0 : 1) }

        /// Notes that the operation of a creation that was lost is over, if there was one.
        mutating func forgetLostCreations() { self.attempts = self.operationID == nil ? 0 : 1 }

        mutating func take(_ operation: ApprovalOperation, date: Int64?, evidence: PersonalApproval.Evidence) {
            self.operationID = operation.id
            self.operationType = operation.operationType
            self.created = operation.created
            self.expires = operation.expires
            self.lastPending = operation.status == .pending ? date ?? operation.created : operation.created
            self.evidence = evidence
        }

        mutating func close(_ answer: Answer, _ operation: ApprovalOperation) {
            self.answer = answer
            self.isOver = true
            self.finalized = operation.finalized
            self.signedData = operation.data ?? self.signedData
            self.registrationID = operation.registrationID
            self.factors = operation.factors
            self.reason = operation.reason
            self.deviceSignature = operation.deviceSignature
        }
    }
}
