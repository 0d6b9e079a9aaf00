import Basics
import EmulatorBackend
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import PowerAuth

/// Knows the bank's truth and all statements and views of others, and finds violations.
struct Judge {
    /// A device's decision.
    struct Decision: Hashable {
        let operationID: String
        let isApproval: Bool
    }

    /// A signature, identified by its counter value: client and server count alike.
    struct Signature: Hashable {
        let activationID: String
        let move: UInt64
    }

    struct Operation {
        let name: String
        let kind: Plan.Kind
        let device: Int
        let made: Int64
        var isPending = true
        var hasExpired = false
        var ended: Int64 = 0
    }

    /// The first violation.
    private(set) var violation: String?
    /// The number of runs of a question's action.
    private(set) var actions: [String: Int] = [:]
    /// The last commit of each process, by activation.
    private var lastCommits: [Int: [String: Commit]] = [:]
    /// The counter steps of sent signatures since the activation's row last went back, in any order if the database's clock was
    /// set under a node with a commit.
    private var sentByAnybody: Set<Signature> = []
    /// The decisions that the bank carried out. Operation and counter may occur twice if the database lost one.
    private var carriedOutIntents: Set<DecisionReceipt.Intent> = []
    /// The number of times that an activation's row went back.
    private var returns: [String: Int] = [:]
    /// The last step of a node and an activation: its marks outlive the database's losses.
    private var sentByNode: [String: UInt64] = [:]
    private(set) var operations: [String: Operation] = [:]
    /// The decisions carried out by the server, by signature.
    private(set) var decisions: [Signature: Decision] = [:]
    /// The same by operation.
    private var carriedOut: [String: Decision] = [:]
    /// The operations excused from being decided.
    private(set) var excused: Set<String> = []
    /// The reason that stops an agent, by activation.
    private(set) var stopped: [String: String] = [:]
    /// The numbers of events, for statistics.
    private(set) var counts: [String: Int] = [:]
    /// The number of an activation's failed attempts explained by changes of the world.
    private var allowances: [String: Int] = [:]
    private var failures: [String: Int] = [:]
    private var counters: [String: UInt64] = [:]
    private var bodies: [String: [UInt8]] = [:]
    private var approved: Set<String> = []
    private var inHand: Set<String> = []
    private var flights: [Int: Flight] = [:]
    /// `true` if no receipt may be missing.
    private var isWhole = true
    /// Failed attempts explained only by earlier changes.
    private var earlyAllowances: [String: [Int64]] = [:]
    private var requestTimes: [Int: ArraySlice<Int64>] = [:]
    /// The signatures that the bank has accepted.
    private var followed: Set<Signature> = []
    /// The receipts as they are now: their outcomes, and the decisions that they are of.
    private var outcomes: [Signature: DecisionOutcome.Result] = [:]
    private var intents: [Signature: DecisionReceipt.Intent] = [:]

    mutating func fail(_ text: String) { if self.violation == nil { self.violation = text } }

    mutating func count(_ name: String) { self.counts[name, default: 0] += 1 }

    // MARK: The bank's actions

    mutating func made(_ id: String, _ kind: Plan.Kind, device: Int, at now: Int64) -> String {
        let name = "\(kind.rawValue) \(self.operations.count + 1)"
        self.operations[id] = Operation(name: name, kind: kind, device: device, made: now)
        self.count("operations")
        return name
    }

    func name(of id: String?) -> String { id.flatMap { self.operations[$0]?.name } ?? "an operation" }

    mutating func ended(_ id: String, as status: String, at now: Int64) {
        self.operations[id]?.ended = now
        self.operations[id]?.isPending = false
        if status == "EXPIRED" { self.operations[id]?.hasExpired = true }
        self.count("operation \(status)")
    }

    /// Allows one more failed attempt of an activation: a request may be duplicated, or overtaken by others.
    mutating func allowFailure(of activationID: String?) {
        if let activationID { self.allowances[activationID, default: 0] += 1 }
    }

    /// Notes that the database lost its last commits, including receipts.
    mutating func wentBack() {
        self.count("times that the database went back")
        self.isWhole = false
    }

    /// Notes that an activation's row went back.
    ///
    /// - Parameter limit: The end of the time in which a change from it may cause a failed attempt; `nil` for no end.
    mutating func wentBack(_ activationID: String, to moves: UInt64, failsUntil limit: Int64?) {
        self.count("times that a row went back")
        self.returns[activationID, default: 0] += 1
        self.sentByAnybody = self.sentByAnybody.filter { $0.activationID != activationID || $0.move <= moves }
        if let limit {
            self.earlyAllowances[activationID, default: []].append(limit)
        } else {
            self.allowFailure(of: activationID)
        }
    }

    /// Returns whether no step of an activation can have been taken twice.
    private func isWhole(_ activationID: String) -> Bool { self.isWhole && self.returns[activationID] == nil }

    /// Returns a device's pending operations: all that were pending recently, and those pending only since.
    func pending(of device: Int, since time: Int64) -> (all: Set<String>, fresh: Set<String>) {
        let own = self.operations.filter { $0.value.device == device }
        return (
            Set(own.filter { $0.value.isPending }.keys),
            Set(own.filter { $0.value.ended >= time || $0.value.made >= time }.keys)
        )
    }

    /// Notes the start of a question's action.
    mutating func acted(_ question: String, by operationIDs: [String]) {
        self.count("actions")
        self.actions[question, default: 0] += 1
        if self.actions[question, default: 0] > 1 { self.fail("the action of \(question) ran twice") }
        let isApproved = operationIDs.contains { self.carriedOut[$0]?.isApproval == true }
        if !isApproved { self.fail("the action of \(question) ran, and nobody approved") }
    }

    /// Notes that the bank unblocked an activation, and reset its failed attempts.
    mutating func failuresWereCleared(of activationID: String) { self.failures[activationID] = 0 }

    // MARK: The processes' actions

    /// A sent request that may arrive.
    struct Flight {
        let id: Int
        let process: Int
        /// Indicates whether an agent sent it, as opposed to a person.
        let isAutomatic: Bool
        let decision: Decision?
        let signature: String?
        let activationID: String?
        let body: [UInt8]
        /// Indicates whether it is held back, so that others may overtake it.
        var isLate = false
        /// The change that took its counter value.
        var commit: Commit?

        init(_ request: HTTPRequest, id: Int, process: Int, isAutomatic: Bool) {
            self.id = id
            self.process = process
            self.isAutomatic = isAutomatic
            self.signature = request.headers["X-PowerAuth-Authorization"]
            self.activationID = self.signature.flatMap { header in
                header.firstRange(of: "activation_id=\"").map { range in
                    String(header[range.upperBound...].prefix { $0 != "\"" })
                }
            }
            self.body = request.body ?? []
            let isApproval = request.url.hasSuffix("/operation/authorize")
            let isDecision = isApproval || request.url.hasSuffix("/operation/cancel")
            let operationID = isDecision ? (try? JSONValue(parsing: self.body))?["requestObject"]?["id"]?.string : nil
            self.decision = operationID.map { Decision(operationID: $0, isApproval: isApproval) }
        }
    }

    /// A committed change.
    struct Commit {
        let node: String
        let moves: UInt64
        var fence: Int64?
        var epoch = Database.Epoch()
        var time: Int64 = 0
        /// The number of times that the activation's row had gone back before it.
        var returns = 0
        /// The decision about to be signed.
        var intent: DecisionReceipt.Intent?
        /// The time after which its request can no longer arrive, by its receipt.
        var arrivesBy: Int64?
    }

    func lastCommit(of process: Int, _ activationID: String) -> Commit? { self.lastCommits[process]?[activationID] }

    /// Notes that a request's first byte was sent.
    mutating func left(_ flight: Flight, limit: Int, at now: Int64) {
        self.count("requests")
        if let signature = flight.signature {
            self.count("signatures")
            if let commit = flight.commit, let id = flight.activationID, self.bodies[signature] == nil {
                let key = "\(commit.node) \(id)"
                if commit.moves <= self.sentByNode[key] ?? 0 {
                    self.fail("\(commit.node) uses a counter value of \(id) that it has used before")
                } else if commit.returns == self.returns[id] ?? 0,
                    !self.sentByAnybody.insert(Signature(activationID: id, move: commit.moves)).inserted
                {
                    self.fail("a counter value of \(id) is used twice")
                }
                self.sentByNode[key] = commit.moves
            }
            if let before = self.bodies.updateValue(flight.body, forKey: signature), before != flight.body {
                self.fail("one signature was sent twice with other content")
            }
        }
        if let decision = flight.decision, flight.isAutomatic {
            // If the database lost one's intent, the winner is unknown; the bank carries out one of them.
            let other = self.flights.values.first {
                $0.decision?.operationID == decision.operationID && $0.isAutomatic && $0.signature != flight.signature
                    && $0.commit?.returns == flight.commit?.returns
            }
            if other != nil {
                self.fail("\(self.name(of: decision.operationID)) is decided again while a decision may still arrive")
            }
        }
        self.flights[flight.id] = flight
        guard flight.isAutomatic else { return }
        var times = self.requestTimes[flight.process] ?? []
        times.append(now)
        while let first = times.first, now - first >= 1_000_000_000 { times.removeFirst() }
        self.requestTimes[flight.process] = times
        if times.count > limit + 1 { self.fail("a process sent \(times.count) requests within a second") }
    }

    /// Notes that a request can no longer arrive.
    mutating func landed(_ id: Int) { self.flights[id] = nil }

    /// A request has arrived; it may be judged later.
    mutating func arrived(_ flight: Flight, at now: Int64) {
        self.landed(flight.id)
        if let end = flight.commit?.arrivesBy, flight.decision != nil, now > end {
            self.fail("a decision arrives later than its receipt says that it can")
        }
    }

    /// A policy was asked.
    mutating func reviewed(_ review: OperationReview, _ verdict: ApprovalAgent.Verdict) {
        self.count("policy asked")
        if case .approve = verdict {
            if !review.isComplete { self.fail("the policy approved what is not complete") }
            self.approved.insert(review.operation.id)
        }
    }

    /// Notes that a person looked at an operation, and decides it.
    mutating func takenInHand(_ operationID: String) { self.inHand.insert(operationID) }

    /// Notes a committed change.
    mutating func committed(
        _ change: RowChange,
        _ commit: Commit,
        by process: Int,
        from old: ActivationRecord,
        to new: ActivationRecord,
        isPaused: Bool
    ) {
        self.count("swaps")
        let id = change.activationID
        if new.counterMoves < old.counterMoves { self.fail("the moves of a counter of \(id) are counted anew") }
        if new.counterMoves > old.counterMoves {
            var commit = commit
            commit.returns = self.returns[id] ?? 0
            self.lastCommits[process, default: [:]][id] = commit
        }
        for (name, token) in old.tokens {
            if let other = new.tokens[name], other.factors.factors.count < token.factors.factors.count {
                self.fail("the token \(name.string) of \(id) gave way to one of fewer factors")
            }
        }
        guard change.intent != nil else { return }
        self.count("intents")
        if let intent = commit.intent { self.intents[Signature(activationID: id, move: new.counterMoves)] = intent }
        if isPaused, change.heedsPause { self.fail("an automatic decision was committed while decisions were paused") }
    }

    /// Notes a recorded outcome.
    mutating func appended(_ result: DecisionOutcome.Result, ofMove moves: UInt64, of activationID: String) {
        self.count("outcomes")
        let signature = Signature(activationID: activationID, move: moves)
        self.outcomes[signature] = result
        let isDone = self.decisions[signature] != nil
        switch result {
        case .accepted:
            if !isDone { self.fail("an outcome says accepted before the bank did it") }
        case .refused, .notFollowed:
            if isDone, self.isWhole(activationID) { self.fail("an outcome says \(result.name), and the bank did it") }
        case .followed, .inferred:
            guard self.isWhole(activationID) else { return }
            if !self.followed.contains(signature) {
                self.fail("an outcome says \(result.name), and the bank did not follow")
            }
            guard result == .inferred, let intent = self.intents[signature] else { return }
            let decision = intent.personalData.flatMap { self.carriedOut[$0.operationID] }
            if decision?.isApproval != (intent.verdict == .approve) {
                self.fail("an outcome says inferred, and the operation did not end so")
            }
        default: break
        }
    }

    // MARK: The bank's responses

    mutating func answered(_ flight: Flight, _ reply: Reply, isCopy: Bool, at now: Int64) {
        guard flight.signature != nil, let id = reply.activationID else { return }
        guard let before = reply.counterBefore, let after = reply.counterAfter, after > before else {
            if !isCopy, !flight.isLate { self.failed(flight, reply, id) }
            return
        }
        if before < self.counters[id] ?? 0 { self.fail("a counter value of \(id) was used twice") }
        self.counters[id] = after
        let signature = Signature(activationID: id, move: after)
        self.followed.insert(signature)
        guard case .accepted = reply.verdict, let decision = flight.decision else { return }
        self.decisions[signature] = decision
        if let said = self.outcomes[signature], self.isWhole(id), said.name == "refused" || said == .notFollowed {
            self.fail(
                "the bank carries out \(self.name(of: decision.operationID)), of which a receipt says \(said.name)"
            )
        }
        if let intent = flight.commit?.intent { self.carriedOutIntents.insert(intent) }
        self.check(decision, flight)
    }

    private mutating func check(_ decision: Decision, _ flight: Flight) {
        self.count("decisions")
        let (id, name) = (decision.operationID, self.name(of: decision.operationID))
        if self.carriedOut.updateValue(decision, forKey: id) != nil { self.fail("\(name) was decided twice") }
        self.operations[id]?.isPending = false
        guard flight.isAutomatic else {
            if !self.inHand.contains(id) { self.fail("\(name) was decided by hand, and nobody did") }
            return
        }
        guard let kind = self.operations[id]?.kind else { return self.fail("\(name) is not the bank's") }
        if decision.isApproval, !self.approved.contains(id) { self.fail("\(name) was approved, and no policy said so") }
        if kind.isApproved != decision.isApproval { self.fail("\(name) was decided otherwise than the policy says") }
    }

    /// Handles a signed request that moved no counter: the signature was invalid, or not verified.
    private mutating func failed(_ flight: Flight, _ reply: Reply, _ id: String) {
        // A blocked activation's signatures are not verified.
        if case .refused(let reason) = reply.verdict, reason.contains("the activation is ") { return }
        guard reply.status == 401 else { return }
        self.count("failed attempts")
        if let time = flight.commit?.time, let index = self.earlyAllowances[id]?.firstIndex(where: { time <= $0 }) {
            self.earlyAllowances[id]?.remove(at: index)
            return
        }
        self.failures[id, default: 0] += 1
        if self.failures[id, default: 0] > self.allowances[id, default: 0] {
            self.fail("a signature of \(id) is wrong, and nothing explains it: \(reply.verdict)")
        }
    }

    // MARK: The agents' statements

    mutating func heard(_ event: ApprovalAgent.Event) {
        self.count("event \(event.kind.name)")
        guard let id = event.operation?.id else {
            switch event.kind {
            case .stopped(let error): self.stopped[event.activationID] = "\(error)"
            case .resumed: self.stopped[event.activationID] = nil
            case .stateChanged(let state) where state.phase == .rolledBack:
                // At least twenty signatures are lost: it signs no more.
                self.count("activations rolled back")
                if self.isWhole(event.activationID) {
                    self.fail("an agent says that the store was restored, and it was not")
                }
                self.stopped[event.activationID] = "rolled back"
            default: break
            }
            return
        }
        let carriedOut = self.carriedOut[id]
        switch event.kind {
        case .decided(let verdict, let isInferred):
            let isApproval = if case .approve = verdict { true } else { false }
            if carriedOut?.isApproval != isApproval, !isInferred || carriedOut == nil {
                self.fail("\(self.name(of: id)) was \(verdict)d, says an agent, and the bank knows nothing of it")
            }
        case .finishedElsewhere(let error):
            // By its own time an operation may be over before the bank has looked at it.
            let isOver =
                self.operations[id]?.isPending == false || error.code == .authorizeExpired
                || error.code == .invalidOperation
            if !isOver { self.fail("\(self.name(of: id)) is over elsewhere, says an agent, and it is pending") }
            self.excused.insert(id)
        case .unknown, .refused, .gone: self.excused.insert(id)
        default: break
        }
    }

    // MARK: The end

    /// Compares the receipts with the bank's actions.
    ///
    /// If the database went back unnoticed, two nodes may have had one value: then one of the receipts matches the bank.
    mutating func audit(_ receipts: [DecisionReceipt], lost: Set<String>, _ note: (String) -> Void) {
        var seen: Set<Signature> = []
        let accounted = Set(
            receipts.filter { [.accepted, .inferred].contains($0.outcome?.result) }.map {
                Signature(activationID: $0.intent.activationID, move: $0.intent.moves)
            }
        )
        let ofOneOperation = Dictionary(grouping: receipts) { $0.intent.personalData?.operationID }
        for receipt in receipts {
            let signature = Signature(activationID: receipt.intent.activationID, move: receipt.intent.moves)
            let isWhole = self.isWhole(signature.activationID)
            if !seen.insert(signature).inserted, isWhole {
                self.fail("two receipts are of move \(signature.move)")
            }
            let result = receipt.outcome?.result
            self.count("receipt \(result?.name ?? "open")")
            let isApproval = receipt.intent.verdict == .approve
            let isOf = self.decisions[signature].map {
                $0.operationID == receipt.intent.personalData?.operationID && $0.isApproval == isApproval
            }
            let name = self.name(of: receipt.intent.personalData?.operationID)
            note("receipt \(receipt.number) of \(name), move \(receipt.intent.moves): \(result?.description ?? "open")")
            switch result {
            case .accepted, .inferred:
                if isOf != true, result == .accepted || !self.hasLostReceipt(of: receipt, accounted) {
                    self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank knows nothing")
                }
                if isOf == true, isWhole, !self.carriedOutIntents.contains(receipt.intent) {
                    self.fail("the receipt of \(name) is of another decision than the bank carried out")
                }
            case .refused, .notFollowed:
                // The bank's decision by this value may be another node's, whose receipt the database lost.
                if isOf == true, isWhole || !accounted.contains(signature),
                    self.carriedOutIntents.contains(receipt.intent)
                {
                    self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank did it")
                }
            case .unanswered, .doubtful, .followed, nil:
                if receipt.intent.isAutomatic, !lost.contains(signature.activationID) {
                    self.fail("nobody found out what became of \(name): receipt \(receipt.number) is open")
                }
            case .unknown:
                // Until a later signature destroys the evidence, the bank's counter shows it.
                let isWiped = self.counters[signature.activationID] ?? 0 > signature.move
                // Two signatures may decide one operation: neither the bank's counter nor a report that the operation is finished
                // shows which one did.
                let isContested = ofOneOperation[receipt.intent.personalData?.operationID, default: []].contains {
                    other in
                    switch other.outcome?.result {
                    case .accepted, .inferred: true
                    case .refused, .notFollowed: false
                    case .unanswered, .doubtful, .followed, .unknown, nil: other.number != receipt.number
                    }
                }
                if receipt.intent.isAutomatic, isWhole, !isWiped, !isContested, !lost.contains(signature.activationID) {
                    self.fail("what became of \(name) could have been found out")
                }
            }
            if receipt.intent.isAutomatic, isApproval, receipt.intent.isComplete != true {
                self.fail("the receipt of \(name) says that it was approved, and not complete")
            }
        }
        for (signature, decision) in self.decisions where self.isWhole && !seen.contains(signature) {
            self.fail("no receipt of the decision on \(self.name(of: decision.operationID))")
        }
    }
}

extension Judge {
    /// Returns whether another decision, whose receipt the database lost, explains a receipt's inferred claim: nothing
    /// contradicts.
    private func hasLostReceipt(of receipt: DecisionReceipt, _ accounted: Set<Signature>) -> Bool {
        guard !self.isWhole, let id = receipt.intent.personalData?.operationID else { return false }
        return self.decisions.contains { $0.value.operationID == id && !accounted.contains($0.key) }
    }
}

extension ApprovalAgent.Event.Kind {
    /// The case's name.
    fileprivate var name: String {
        if case .retrying = self { return "again" }
        return String("\(self)".prefix { $0 != ":" && $0 != "," })
    }
}
