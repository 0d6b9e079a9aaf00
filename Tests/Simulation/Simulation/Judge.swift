import Basics
import EmulatorBackend
import ExactJSON
import HTTPClientTransport
import MobileToken
import PowerAuth

/// Knows the bank's truth and all statements and views of others, and finds violations.
///
/// Each statement is a claim, which is compared with the bank's books or with the trace of requests: nothing is excused without a proof
/// in the same world. The claims of agents and receipts are in `Judge+Claims`, the last ones in `Judge+Audit`, and the pace of requests
/// in `Judge+Trace`.
struct Judge {
    /// The limit of agents' approvals.
    var limit: JudgedLimit
    /// The first violation.
    private(set) var violation: String?
    /// The number of runs of a question's action.
    var actions: [String: Int] = [:]
    /// The last commit of each process, by activation.
    private var lastCommits: [Int: [String: Commit]] = [:]
    /// The counter steps of sent signatures since the activation's row last went back, in any order if the database's clock was
    /// set under a node with a commit.
    private var sentByAnybody: Set<Signature> = []
    /// The decisions that the bank carried out. Operation and counter may occur twice if the database lost one.
    private(set) var carriedOutIntents: Set<DecisionReceipt.Intent> = []
    /// The number of times that an activation's row went back.
    private var returns: [String: Int] = [:]
    /// The lowest number of moves that an activation's row went back to: later moves may have been made twice.
    var floors: [String: UInt64] = [:]
    /// The receipts that the database lost.
    var lostReceipts: Set<Signature> = []
    /// The last step of a node and an activation: its marks outlive the database's losses.
    private var sentByNode: [String: UInt64] = [:]
    private(set) var operations: [String: Operation] = [:]
    /// The decisions carried out by the server, by signature.
    private(set) var decisions: [Signature: Decision] = [:]
    /// The same by operation.
    private(set) var carriedOut: [String: Decision] = [:]
    /// The processes whose requests the bank carried out, by operation.
    private(set) var deciders: [String: Int] = [:]
    /// When the bank carried out the decision, by operation.
    private(set) var decided: [String: Int64] = [:]
    /// The operations excused from being decided: it is proven that they cannot be.
    var excused: Set<String> = []
    /// The reason that stops an agent, by activation.
    var stopped: [String: String] = [:]
    /// When agents called activations blocked, and rightly, until they called them something else and had time to catch up.
    var saidBlocked: [String: [ClosedRange<Int64>]] = [:]
    /// The times until which the bank has blocked activations.
    private(set) var blockedUntil: [String: Int64] = [:]
    /// The activations whose keys of version 4 the database lost.
    var lostKeys: Set<String> = []
    /// The numbers of events, for statistics.
    private(set) var counts: [String: Int] = [:]
    /// The failed attempts, and what explains them.
    var attempts = FailedAttempts()
    /// The activation whose password agents have wrong, and how many refusals of it each of them has heard without a stop.
    var wrongFactor: String?
    var wrongs: [Int: Int] = [:]
    /// The activations with a signature that the bank refused.
    private(set) var refusedActivations: Set<String> = []
    private(set) var counters: [String: UInt64] = [:]
    private var bodies: [String: [UInt8]] = [:]
    /// The verdicts of policies, by operation and signed data.
    private var verdicts: [String: [String: Bool]] = [:]
    private var inHand: Set<String> = []
    private var flights: [Int: Flight] = [:]
    /// The signatures that the bank has accepted.
    private(set) var followed: Set<Signature> = []
    /// The signatures whose first byte was sent, and those that the bank refused in its own words.
    private(set) var sent: Set<Signature> = []
    private(set) var refused: Set<Signature> = []
    /// The signatures that were refused in front of the bank just before it counted another one's failure: theirs, for all that
    /// their sender can see, which asks for the status then.
    private var refusedBeforeFailure: Set<Signature> = []
    private var refusedInFront: [String: [(signature: Signature, time: Int64)]] = [:]
    private static let statusFollows: Int64 = 30_000_000_000
    /// The operations of the decisions that were sent, and of those that the bank refused in its own words.
    private(set) var sentOperations: Set<String> = []
    private(set) var refusedOperations: Set<String> = []
    /// The same by their headers.
    private var signatures: [String: Signature] = [:]
    /// The number of an activation's signatures since the last one that the bank accepted.
    private(set) var unfollowed: [String: Int] = [:]
    /// The receipts as they are now: their outcomes, when they were written, and the decisions that they are of.
    var outcomes: [Signature: DecisionOutcome.Result] = [:]
    var outcomeTimes: [Signature: Int64] = [:]
    private(set) var intents: [Signature: DecisionReceipt.Intent] = [:]
    /// The statements of processes about operations.
    var statements: [Case: Statements] = [:]
    /// The operations by which people were asked, by what they were asked.
    var asked: [String: [Asked]] = [:]
    /// The operations of which a program has heard that they were rejected.
    var rejectionsHeard: [Int: Set<String>] = [:]
    /// The pace of requests.
    var trace = Trace()

    init(_ plan: Plan) { self.limit = JudgedLimit(plan) }

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
        if status == "EXPIRED" {
            self.operations[id]?.hasExpired = true
            if let device = self.operations[id]?.device { self.trace.expiries[device, default: []].append(now) }
        }
        self.count("operation \(status)")
    }

    /// Notes that the database lost its last commits, including receipts.
    mutating func wentBack(losing receipts: Set<Signature>) {
        self.count("times that the database went back")
        self.lostReceipts.formUnion(receipts)
        self.trace.heardAccepted = [:]
    }

    /// Notes that an activation's row went back.
    ///
    /// - Parameter limit: The end of the time in which a change from it may cause a failed attempt; `nil` for no end.
    mutating func wentBack(_ activationID: String, to moves: UInt64, at now: Int64, failsUntil limit: Int64?) {
        self.count("times that a row went back")
        self.returns[activationID, default: 0] += 1
        self.trace.wentBack(activationID, at: now)
        self.floors[activationID] = min(moves, self.floors[activationID] ?? moves)
        self.sentByAnybody = self.sentByAnybody.filter { $0.activationID != activationID || $0.move <= moves }
        if let limit {
            self.allowFailure(of: activationID, committedBy: limit)
        } else {
            self.allowFailure(of: activationID)
        }
    }

    /// A node has found a row behind its mark.
    mutating func beganEpoch() {
        self.count("epochs begun by nodes")
        if self.floors.isEmpty { self.fail("a node begins an epoch, and no row went back") }
    }

    /// Returns whether a signature's step was taken once, and its receipt not lost.
    func isWhole(_ signature: Signature) -> Bool {
        self.floors[signature.activationID].map { signature.move <= $0 } ?? true
            && !self.lostReceipts.contains(signature)
    }

    /// Notes that the bank blocks an activation for some time.
    mutating func blocked(_ activationID: String, until time: Int64) { self.blockedUntil[activationID] = time }

    /// Notes that the bank changed an operation that waits.
    mutating func changed(_ id: String, to kind: Plan.Kind, _ data: String, at now: Int64) {
        self.count("operations changed")
        self.operations[id]?.kind = kind
        self.trace.changed(id, to: data, at: now)
    }

    /// Returns a device's pending operations: all that were pending recently, and those pending only since.
    func pending(of device: Int, since time: Int64) -> (all: Set<String>, fresh: Set<String>) {
        let own = self.operations.filter { $0.value.device == device }
        return (
            Set(own.filter { $0.value.isPending }.keys),
            Set(own.filter { $0.value.ended >= time || $0.value.made >= time }.keys)
        )
    }

    // MARK: The processes' actions

    func lastCommit(of process: Int, _ activationID: String) -> Commit? { self.lastCommits[process]?[activationID] }

    /// Notes that a request's first byte was sent.
    mutating func left(_ flight: Flight) {
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
                self.sent.insert(Signature(activationID: id, move: commit.moves))
                self.signatures[signature] = Signature(activationID: id, move: commit.moves)
                self.unfollowed[id, default: 0] += 1
            }
            if let before = self.bodies.updateValue(flight.body, forKey: signature), before != flight.body {
                self.fail("one signature was sent twice with other content")
            }
        }
        if let decision = flight.decision { self.sentOperations.insert(decision.operationID) }
        if let decision = flight.decision, flight.isAutomatic {
            // If the database lost one's intent, the winner is unknown; the bank carries out one of them.
            let other = self.flights.values.first {
                $0.decision?.operationID == decision.operationID && $0.isAutomatic && $0.signature != flight.signature
                    && $0.commit?.returns == flight.commit?.returns && self.mayBeAccepted($0)
            }
            if other != nil {
                self.fail("\(self.name(of: decision.operationID)) is decided again while a decision may still arrive")
            }
        }
        self.flights[flight.id] = flight
    }

    /// Returns whether the bank may still accept a signature: it has accepted no later one, as that of a fence.
    private func mayBeAccepted(_ flight: Flight) -> Bool {
        guard let id = flight.activationID, let moves = flight.commit?.moves else { return true }
        return self.counters[id] ?? 0 < moves
    }

    /// Notes that a request can no longer arrive.
    mutating func landed(_ id: Int) { self.flights[id] = nil }

    /// A request has arrived; it may be judged later.
    mutating func arrived(_ flight: Flight, at now: Int64) {
        self.landed(flight.id)
        if let end = flight.commit?.arrivesBy, flight.decision != nil, !flight.isOverdue, now > end {
            self.fail("a decision arrives later than its receipt says that it can")
        }
    }

    /// A policy was asked.
    mutating func reviewed(
        _ review: OperationReview,
        _ verdict: ApprovalAgent.Verdict,
        by process: Int,
        at now: Int64
    ) {
        self.count("policy asked")
        if case .approve = verdict {
            if !review.isComplete, self.operations[review.operation.id]?.kind != .pair {
                self.fail("the policy approved what is not complete")
            }
        }
        let isApproval: Bool? =
            switch verdict {
            case .approve: true
            case .reject: false
            case .deferToPeople, .askAgain: nil
            }
        self.verdicts[review.operation.id, default: [:]][review.operation.data] = isApproval
        if let fault = self.trace.reviewed(review.operation, by: process, at: now) { self.fail(fault) }
    }

    /// Notes that a person looked at an operation, and decides it.
    mutating func takenInHand(_ operationID: String) { self.inHand.insert(operationID) }

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
        if let intent = commit.intent {
            let signature = Signature(activationID: id, move: new.counterMoves)
            self.intents[signature] = intent
            if intent.isAutomatic, intent.verdict == .approve {
                self.limit.committed(signature, intent.personalData?.signed ?? "", at: commit.time)
            }
        }
        if isPaused, change.heedsPause { self.fail("an automatic decision was committed while decisions were paused") }
    }

    // MARK: The bank's responses

    /// Notes that a refusal in the bank's words has come from before the bank.
    mutating func refusedInFront(_ flight: Flight, at now: Int64) {
        if let signature = flight.signature.flatMap({ self.signatures[$0] }) {
            self.refused.insert(signature)
            self.refusedInFront[signature.activationID, default: []].append((signature, now))
        }
        if let decision = flight.decision { self.refusedOperations.insert(decision.operationID) }
        if let id = flight.activationID { self.refusedActivations.insert(id) }
    }

    /// Notes that the bank has counted a failed attempt of an activation.
    private mutating func countedFailure(of activationID: String, at now: Int64) {
        let before = self.refusedInFront.removeValue(forKey: activationID) ?? []
        self.refusedBeforeFailure.formUnion(before.filter { now - $0.time < Self.statusFollows }.map(\.signature))
    }

    /// Returns whether a receipt may say that a decision was refused, although it was made.
    func seemsRefused(_ signature: Signature) -> Bool { self.refusedBeforeFailure.contains(signature) }

    /// Notes that an agent hears that the bank has carried out its decision.
    mutating func heard(_ response: HTTPResponse, _ flight: Flight) {
        let answer = try? JSONValue(parsing: response.body)
        if flight.isAutomatic, flight.decision != nil, response.status == 401, answer != nil,
            let id = flight.activationID, id == self.wrongFactor
        {
            // The first one may be explained by a counter, and the status after one may be lost.
            self.wrongs[flight.process, default: 0] += 1
            if self.wrongs[flight.process, default: 0] > 3 {
                self.fail("an agent goes on with a wrong password of \(id)")
            }
        }
        guard flight.isAutomatic, flight.decision != nil, response.status == 200, answer?["status"]?.string == "OK",
            let signature = flight.signature.flatMap({ self.signatures[$0] })
        else { return }
        self.trace.heardAccepted[signature] = flight.process
    }

    mutating func answered(_ flight: Flight, _ reply: Reply, isCopy: Bool, at now: Int64) {
        guard flight.signature != nil, let id = reply.activationID else { return }
        if case .refused = reply.verdict {
            if let move = flight.commit?.moves { self.refused.insert(Signature(activationID: id, move: move)) }
            // An action at the bank ends a block.
            if let decision = flight.decision, !reply.isOfBlocked {
                self.refusedOperations.insert(decision.operationID)
            }
            if reply.status == 401 {
                self.refusedActivations.insert(id)
                self.countedFailure(of: id, at: now)
            }
        }
        guard let before = reply.counterBefore, let after = reply.counterAfter, after > before else {
            if !isCopy, !flight.isLate { self.failed(flight, reply, id) }
            return
        }
        if before < self.counters[id] ?? 0 { self.fail("a counter value of \(id) was used twice") }
        self.counters[id] = after
        let signature = Signature(activationID: id, move: after)
        self.followed.insert(signature)
        self.unfollowed[id] = 0
        guard case .accepted = reply.verdict, let decision = flight.decision else { return }
        self.decisions[signature] = decision
        if let said = self.outcomes[signature], self.isWhole(signature), !self.seemsRefused(signature),
            said.name == "refused" || said == .notFollowed
        {
            self.fail(
                "the bank carries out \(self.name(of: decision.operationID)), of which a receipt says \(said.name)"
            )
        }
        if let intent = flight.commit?.intent { self.carriedOutIntents.insert(intent) }
        self.check(decision, flight, at: now)
    }

    private mutating func check(_ decision: Decision, _ flight: Flight, at now: Int64) {
        self.count("decisions")
        let (id, name) = (decision.operationID, self.name(of: decision.operationID))
        if self.carriedOut.updateValue(decision, forKey: id) != nil { self.fail("\(name) was decided twice") }
        self.operations[id]?.isPending = false
        self.deciders[id] = flight.process
        self.decided[id] = now
        guard flight.isAutomatic else {
            if !self.inHand.contains(id) { self.fail("\(name) was decided by hand, and nobody did") }
            return
        }
        guard let kind = self.operations[id]?.kind else { return self.fail("\(name) is not the bank's") }
        if decision.isApproval, let device = flight.activationID, let commit = flight.commit,
            !self.limit.approved(device, flight.data ?? "", committedAt: commit.time)
        {
            self.fail("\(name) was approved, and passes the limit of its activation")
        }
        let verdicts = self.verdicts[id] ?? [:]
        let isSo =
            flight.data.map { verdicts[$0] == decision.isApproval } ?? verdicts.values.contains(decision.isApproval)
        if !isSo { self.fail("\(name) was decided, and no policy said so of what was signed") }
        if kind.isApproved != decision.isApproval { self.fail("\(name) was decided otherwise than the policy says") }
    }
}
