import Basics
import EmulatorBackend
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import PowerAuth

/// Knows the bank's truth, and what everybody said and saw, and finds what must never be.
struct Judge {
    /// A decision that a device asked for.
    struct Decision: Hashable {
        let operationID: String
        let isApproval: Bool
    }

    /// A signature, by the counter value that it used up: client and server count alike.
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
    }

    /// What went wrong first.
    private(set) var violation: String?
    private(set) var operations: [String: Operation] = [:]
    /// Those that the server carried out, by the signature.
    private(set) var decisions: [Signature: Decision] = [:]
    /// Why operations are not decided any more, though they could be.
    private(set) var excused: Set<String> = []
    /// What stops an agent from deciding, by activation.
    private(set) var stopped: [String: String] = [:]
    /// How often what happened, for the figures.
    private(set) var counts: [String: Int] = [:]
    /// How many failed attempts of an activation may be explained by what was done to the world.
    private var allowances: [String: Int] = [:]
    private var failures: [String: Int] = [:]
    private var counters: [String: UInt64] = [:]
    private var bodies: [String: [UInt8]] = [:]
    private var approved: Set<String> = []
    private var inHand: Set<String> = []
    private var flights: [Int: Flight] = [:]
    /// Whether no receipt may be missing.
    private var isWhole = true
    private var requestTimes: [Int: ArraySlice<Int64>] = [:]

    mutating func fail(_ text: String) { if self.violation == nil { self.violation = text } }

    mutating func count(_ name: String) { self.counts[name, default: 0] += 1 }

    // MARK: What the bank does

    mutating func made(_ id: String, _ kind: Plan.Kind, device: Int, at now: Int64) -> String {
        let name = "\(kind.rawValue) \(self.operations.count + 1)"
        self.operations[id] = Operation(name: name, kind: kind, device: device, made: now)
        self.count("operations")
        return name
    }

    func name(of id: String?) -> String { id.flatMap { self.operations[$0]?.name } ?? "an operation" }

    mutating func ended(_ id: String, as status: String) {
        self.operations[id]?.isPending = false
        if status == "EXPIRED" { self.operations[id]?.hasExpired = true }
        self.count("operation \(status)")
    }

    /// One more failed attempt of an activation is explained: a request may be doubled, or come when others have passed it.
    mutating func allowFailure(of activationID: String?) {
        if let activationID { self.allowances[activationID, default: 0] += 1 }
    }

    /// The database lost what was last committed: receipts too.
    mutating func wentBack() {
        self.count("times that the database went back")
        self.isWhole = false
    }

    /// The bank unblocked an activation, and forgot its failed attempts.
    mutating func failuresWereCleared(of activationID: String) { self.failures[activationID] = 0 }

    // MARK: What processes do

    /// A request that has left, and may arrive.
    struct Flight {
        let id: Int
        let process: Int
        /// Of an agent, and not of a person.
        let isAutomatic: Bool
        let decision: Decision?
        let signature: String?
        let body: [UInt8]

        init(_ request: HTTPRequest, id: Int, process: Int, isAutomatic: Bool) {
            self.id = id
            self.process = process
            self.isAutomatic = isAutomatic
            self.signature = request.headers["X-PowerAuth-Authorization"]
            self.body = request.body ?? []
            let isApproval = request.url.hasSuffix("/operation/authorize")
            let isDecision = isApproval || request.url.hasSuffix("/operation/cancel")
            let operationID = isDecision ? (try? JSONValue(parsing: self.body))?["requestObject"]?["id"]?.string : nil
            self.decision = operationID.map { Decision(operationID: $0, isApproval: isApproval) }
        }
    }

    /// The first byte of a request left.
    mutating func left(_ flight: Flight, limit: Int, at now: Int64) {
        self.count("requests")
        if let signature = flight.signature {
            self.count("signatures")
            if let before = self.bodies.updateValue(flight.body, forKey: signature), before != flight.body {
                self.fail("one signature was sent twice with other content")
            }
        }
        if let decision = flight.decision, flight.isAutomatic {
            let other = self.flights.values.first {
                $0.decision?.operationID == decision.operationID && $0.isAutomatic && $0.signature != flight.signature
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

    /// A request cannot arrive any more.
    mutating func landed(_ id: Int) { self.flights[id] = nil }

    /// A policy was asked.
    mutating func reviewed(_ review: OperationReview, _ verdict: ApprovalAgent.Verdict) {
        self.count("policy asked")
        if case .approve = verdict {
            if !review.isComplete { self.fail("the policy approved what is not complete") }
            self.approved.insert(review.operation.id)
        }
    }

    /// A person looked at an operation, and decides.
    mutating func takenInHand(_ operationID: String) { self.inHand.insert(operationID) }

    mutating func committed(_ change: RowChange, isPaused: Bool) {
        self.count("swaps")
        guard change.intent != nil else { return }
        self.count("intents")
        if isPaused, change.heedsPause { self.fail("an automatic decision was committed while decisions were paused") }
    }

    // MARK: What the bank answers

    mutating func answered(_ flight: Flight, _ reply: Reply, isCopy: Bool) {
        guard flight.signature != nil, let id = reply.activationID else { return }
        guard let before = reply.counterBefore, let after = reply.counterAfter, after > before else {
            self.failed(flight, reply, id)
            return
        }
        if before < self.counters[id] ?? 0 { self.fail("a counter value of \(id) was used twice") }
        self.counters[id] = after
        guard case .accepted = reply.verdict, let decision = flight.decision else { return }
        self.decisions[Signature(activationID: id, move: after)] = decision
        self.check(decision, flight)
    }

    private mutating func check(_ decision: Decision, _ flight: Flight) {
        self.count("decisions")
        let (id, name) = (decision.operationID, self.name(of: decision.operationID))
        if self.decisions.values.count(where: { $0.operationID == id }) > 1 { self.fail("\(name) was decided twice") }
        self.operations[id]?.isPending = false
        guard flight.isAutomatic else {
            if !self.inHand.contains(id) { self.fail("\(name) was decided by hand, and nobody did") }
            return
        }
        guard let kind = self.operations[id]?.kind else { return self.fail("\(name) is not the bank's") }
        if decision.isApproval, !self.approved.contains(id) { self.fail("\(name) was approved, and no policy said so") }
        if kind.isApproved != decision.isApproval { self.fail("\(name) was decided otherwise than the policy says") }
    }

    /// A signed request that moved no counter: the signature was wrong, or it was refused before anybody looked at it.
    private mutating func failed(_ flight: Flight, _ reply: Reply, _ id: String) {
        // A blocked activation's signatures are not looked at.
        if case .refused(let reason) = reply.verdict, reason.contains("the activation is ") { return }
        guard reply.status == 401 else { return }
        self.count("failed attempts")
        self.failures[id, default: 0] += 1
        if self.failures[id, default: 0] > self.allowances[id, default: 0] {
            self.fail("a signature of \(id) is wrong, and nothing explains it: \(reply.verdict)")
        }
    }

    // MARK: What agents say

    mutating func heard(_ event: ApprovalAgent.Event) {
        self.count("event \(event.kind.name)")
        guard let id = event.operation?.id else {
            switch event.kind {
            case .stopped(let error): self.stopped[event.activationID] = "\(error)"
            case .resumed: self.stopped[event.activationID] = nil
            default: break
            }
            return
        }
        let carriedOut = self.decisions.values.first { $0.operationID == id }
        switch event.kind {
        case .decided(let verdict, let isInferred):
            let isApproval = if case .approve = verdict { true } else { false }
            if carriedOut?.isApproval != isApproval, !isInferred || carriedOut == nil {
                self.fail("\(self.name(of: id)) was \(verdict)d, says an agent, and the bank knows nothing of it")
            }
        case .unknown, .finishedElsewhere, .refused, .gone: self.excused.insert(id)
        default: break
        }
    }

    // MARK: The end

    /// Compares the receipts with what the bank did.
    mutating func audit(_ receipts: [DecisionReceipt]) {
        var seen: Set<Signature> = []
        for receipt in receipts {
            let signature = Signature(activationID: receipt.intent.activationID, move: receipt.intent.moves)
            seen.insert(signature)
            let result = receipt.outcome?.result
            self.count("receipt \(result?.name ?? "open")")
            let isOf = self.decisions[signature].map { $0.operationID == receipt.intent.personalData?.operationID }
            let name = self.name(of: receipt.intent.personalData?.operationID)
            switch result {
            case .accepted, .inferred:
                if isOf != true {
                    self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank knows nothing")
                }
            case .refused, .notFollowed:
                if isOf == true { self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank did it") }
            case .unanswered, .followed, nil:
                if receipt.intent.isAutomatic {
                    self.fail("nobody found out what became of \(name): receipt \(receipt.number) is open")
                }
            case .unknown: break
            }
        }
        for (signature, decision) in self.decisions where self.isWhole && !seen.contains(signature) {
            self.fail("no receipt of the decision on \(self.name(of: decision.operationID))")
        }
    }
}

extension ApprovalAgent.Event.Kind {
    /// The case alone.
    fileprivate var name: String {
        if case .retrying = self { return "again" }
        return String("\(self)".prefix { $0 != ":" && $0 != "," })
    }
}

extension DecisionOutcome.Result {
    /// The case alone.
    fileprivate var name: String { String("\(self)".prefix { $0 != "(" }).trimmingCharacters(in: .whitespaces) }
}
