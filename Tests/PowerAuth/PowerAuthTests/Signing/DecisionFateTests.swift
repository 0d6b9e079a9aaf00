import PowerAuth
import Testing

/// Each line of the table of what may be said of a decision, and the same without one of its conditions.
struct DecisionFateTests {
    private enum Sight {
        case counter(DecisionFate.Counter), operation(DecisionFate.Operation), another(DecisionOutcome.Result?), failure
        case history(DecisionFate.Operation?)
    }

    private static let lost = DecisionOutcome.Result.unanswered(code: "timeout")
    private static let denied = DecisionOutcome.Result.doubtful(code: "authenticationFailed", serverCode: "ERR")
    private static let over = DecisionOutcome.Result.doubtful(
        code: "serverError",
        serverCode: "OPERATION_ALREADY_FINISHED"
    )

    private func result(
        _ known: DecisionOutcome.Result?,
        _ sights: [Sight],
        _ verdict: DecisionIntent.Verdict = .approve
    ) -> DecisionOutcome.Result? {
        var fate = DecisionFate(verdict, known)
        for sight in sights {
            switch sight {
            case .counter(let counter): fate.see(counter)
            case .operation(let operation): fate.see(operation)
            case .history(let operation): fate.see(history: operation)
            case .another(let result): fate.see(another: result)
            case .failure: fate.seeFailure()
            }
        }
        return fate.result
    }

    @Test func theServersOwnSuccessIsTheEnd() {
        #expect(self.result(.accepted, []) == .accepted)
        #expect(self.result(.accepted, [.counter(.past), .operation(.otherwise)]) == .accepted)
        #expect(self.result(Self.lost, []) == Self.lost)
        #expect(self.result(nil, []) == nil)
    }

    @Test func theCounterRightBehindIsFollowed() {
        #expect(self.result(Self.lost, [.counter(.followed)]) == .followed)
        for counter in [DecisionFate.Counter.behind, .past, .untold] {
            #expect(self.result(Self.lost, [.counter(counter)]) == Self.lost)
        }
        // Later signatures do not hide what a status has shown.
        #expect(self.result(.followed, [.counter(.past)]) == .followed)
    }

    @Test func aPendingOperationProvesNothingUntilTheValueIsWorthless() {
        #expect(self.result(Self.lost, [.counter(.past), .operation(.pending)]) == .notFollowed)
        // Accepted, it may still be decided: the server does that in a second step.
        #expect(self.result(Self.lost, [.counter(.followed), .operation(.pending)]) == .followed)
        #expect(self.result(.followed, [.counter(.past), .operation(.pending)]) == .followed)
        #expect(self.result(Self.denied, [.counter(.reached), .operation(.pending)]) == Self.denied)
        #expect(self.result(Self.denied, [.counter(.reached), .counter(.past), .operation(.pending)]) == Self.denied)
        #expect(self.result(Self.lost, [.operation(.pending), .counter(.past)]) == Self.lost)
        #expect(self.result(Self.lost, [.counter(.behind), .operation(.pending)]) == Self.lost)
        #expect(self.result(Self.lost, [.counter(.untold), .operation(.pending)]) == Self.lost)
    }

    /// The signature may have been accepted, which a status has shown that is lost with the backup.
    @Test func aRestoredStoreProvesNothingOfWhatWasAcceptedBefore() {
        let lost = DecisionOutcome.Result.evidenceLost
        #expect(self.result(lost, [.counter(.past), .operation(.pending)]) == lost)
        #expect(self.result(lost, [.history(.pending)]) == lost)
        #expect(self.result(lost, [.counter(.past), .operation(.asDecided)]) == .unknown)
        #expect(self.result(lost, [.counter(.past), .operation(.otherwise)]) == .notFollowed)
        #expect(self.result(lost, [.operation(.asDecided), .counter(.behind)]) == .notFollowed)
        #expect(self.result(lost, [.counter(.followed), .operation(.asDecided)]) == .inferred)
    }

    @Test func anOperationThatEndedOtherwiseWasNotDecidedByIt() {
        for known in [nil, Self.lost, .followed, .unknown] {
            #expect(self.result(known, [.operation(.otherwise)]) == .notFollowed)
        }
        #expect(self.result(Self.lost, [.operation(.finished), .operation(.otherwise)]) == .notFollowed)
        #expect(
            self.result(Self.over, [.operation(.otherwise)])
                == .refused(code: "serverError", serverCode: "OPERATION_ALREADY_FINISHED")
        )
    }

    @Test(arguments: [DecisionFate.Operation.finished, .asDecided])
    func whatTheServerHasNotComeToAfterTheEndDecidedNothing(end: DecisionFate.Operation) {
        #expect(self.result(Self.lost, [.operation(end), .counter(.behind)]) == .notFollowed)
        #expect(self.result(Self.lost, [.counter(.behind), .operation(end)]) == Self.lost)
        #expect(self.result(Self.lost, [.operation(.missing), .counter(.behind)]) == Self.lost)
    }

    @Test func onlyWhatWasFollowedAndNeitherRefusedNorContestedIsInferred() {
        let seen: [Sight] = [.counter(.followed), .operation(.asDecided)]
        #expect(self.result(Self.lost, seen) == .inferred)
        #expect(self.result(nil, seen) == .inferred)
        #expect(self.result(.followed, [.operation(.asDecided)]) == .inferred)
        for known in [Self.denied, Self.over, .unknown] { #expect(self.result(known, seen) == .unknown) }
        #expect(self.result(Self.lost, [.counter(.past), .operation(.asDecided)]) == .unknown)
        for other in [nil, .unknown, .inferred, Self.lost] as [DecisionOutcome.Result?] {
            #expect(self.result(Self.lost, seen + [.another(other)]) == .unknown)
        }
        for other in [DecisionOutcome.Result.notFollowed, .refused(code: "x", serverCode: nil)] {
            #expect(self.result(Self.lost, seen + [.another(other)]) == .inferred)
        }
    }

    @Test func anotherSignatureThatDecidedItLeavesNothingForThisOne() {
        #expect(self.result(Self.lost, [.counter(.followed), .another(.accepted)]) == .notFollowed)
        #expect(self.result(Self.lost, [.counter(.followed), .another(.inferred)]) == .followed)
    }

    @Test func withoutTheVerdictItStaysFollowedAndIsNeverInferred() {
        #expect(self.result(Self.lost, [.counter(.followed), .operation(.finished)]) == .followed)
        #expect(self.result(Self.lost, [.counter(.past), .operation(.finished)]) == .unknown)
        // Nor is it asked for again where the history lacks it.
        #expect(self.result(.followed, [.operation(.finished), .operation(.withheld)]) == .unknown)
        #expect(self.result(.followed, [.operation(.withheld)]) == .followed)
        #expect(self.result(.followed, [.operation(.asDecided), .operation(.withheld)]) == .inferred)
        #expect(self.result(Self.lost, [.operation(.withheld), .counter(.behind)]) == Self.lost)
        #expect(self.result(Self.lost, [.counter(.past), .operation(.missing)]) == .unknown)
    }

    /// A history is signed. Of an operation that is over it tells the verdict, or never will.
    @Test func aHistoryEndsWhatOnlyItCanTell() {
        func result(_ sights: [Sight], _ history: DecisionFate.Operation?) -> DecisionOutcome.Result? {
            self.result(.followed, sights + [.history(history)])
        }
        #expect(result([.operation(.finished)], nil) == .unknown)
        #expect(result([.operation(.finished)], .asDecided) == .inferred)
        #expect(result([.operation(.finished)], .otherwise) == .notFollowed)
        // It lags behind what was seen before.
        #expect(result([.operation(.finished)], .pending) == .unknown)
        // It may be over, or not: nobody looked.
        #expect(result([], nil) == .followed)
        #expect(result([.operation(.pending)], nil) == .followed)
        #expect(self.result(Self.lost, [.history(nil)]) == Self.lost)
        #expect(self.result(Self.lost, [.history(.pending)]) == .notFollowed)
    }

    @Test func aRefusalIsOneWhenItWasCountedOrNothingWasLeftToDecide() {
        #expect(self.result(Self.denied, [.failure, .counter(.reached)]) == Self.denied)
        let refused = DecisionOutcome.Result.refused(code: "authenticationFailed", serverCode: "ERR")
        #expect(self.result(Self.denied, [.failure, .counter(.behind)]) == refused)
        #expect(self.result(Self.denied, [.counter(.behind)]) == Self.denied)
        // A first copy may have been accepted: it clears the failures, and the second one is counted.
        #expect(self.result(Self.denied, [.failure, .counter(.past)]) == Self.denied)
        #expect(self.result(Self.denied, [.failure, .counter(.past), .operation(.finished)]) == .unknown)
        #expect(self.result(Self.denied, [.counter(.past), .operation(.pending)]) == refused)
    }

    @Test func theServersCodeTellsTheEndOfTheOperation() {
        func code(_ code: String, _ verdict: DecisionIntent.Verdict) -> DecisionOutcome.Result? {
            self.result(.doubtful(code: "c", serverCode: code), [.counter(.followed)], verdict)
        }
        for verdict in DecisionIntent.Verdict.allCases {
            #expect(code("OPERATION_ALREADY_FINISHED", verdict) == .unknown)
            for end in ["OPERATION_ALREADY_CANCELED", "OPERATION_ALREADY_FAILED", "OPERATION_EXPIRED"] {
                #expect(code(end, verdict) == .refused(code: "c", serverCode: end))
            }
            #expect(code("INVALID_OPERATION", verdict) == .doubtful(code: "c", serverCode: "INVALID_OPERATION"))
        }
        let rejected = "OPERATION_ALREADY_REJECTED"
        #expect(code(rejected, .approve) == .refused(code: "c", serverCode: rejected))
        #expect(code(rejected, .reject) == .unknown)
    }

    // MARK: All orders

    /// A server, one decision with the counter's first value, and what else may happen to its operation.
    private struct World {
        enum Event: CaseIterable {
            // The request is judged, perhaps a second time: at once, or in two steps; or something behind the server fails.
            case judged, verified, completed, outage
            case decidedSoElsewhere, decidedOtherwiseElsewhere, canceled
            /// A later signature of ours is accepted.
            case fence
            case status, detail, history
            /// A history that does not reach back to the operation.
            case shortHistory
        }

        enum End { case ours, so, otherwise }

        let decision: OpenDecision
        let isRight: Bool
        var counter: UInt64 = 0
        var moves: UInt64 = 1
        var failures = 0
        var end: End?
        var answer: DecisionOutcome.Result?
        /// Indicates that the signature was accepted, and the operation is decided in a moment; and that a status has shown it.
        var isWaiting = false
        var isSeen = false

        mutating func pass(_ event: Event) {
            switch event {
            case .judged:
                self.verify()
                self.complete()
            case .verified: self.verify()
            case .completed: self.complete()
            case .outage: self.answer = DecisionFateTests.denied
            case .decidedSoElsewhere: self.end = self.end ?? .so
            case .decidedOtherwiseElsewhere, .canceled: self.end = self.end ?? .otherwise
            case .fence, .history, .shortHistory:
                // A signature that no status has shown is taken for decided by the time that a later one is accepted.
                if !self.isSeen { self.complete() }
                self.moves += 1
                self.counter = self.moves
                if event != .fence { self.failures = 0 }
            case .status: if self.counter == 1 { self.isSeen = true }
            case .detail: break
            }
        }

        private mutating func verify() {
            guard self.isRight, self.counter < 1 else {
                if self.decision.intent.factors != "possession" { self.failures += 1 }
                self.answer = DecisionFateTests.denied
                return
            }
            self.counter = 1
            if self.decision.intent.factors != "possession" { self.failures = 0 }
            self.isWaiting = true
        }

        mutating func complete() {
            guard self.isWaiting else { return }
            self.isWaiting = false
            self.answer = self.end == nil ? .accepted : DecisionFateTests.over
            if self.end == nil { self.end = .ours }
        }

        func show(_ event: Event, to fate: inout DecisionFate) {
            switch event {
            case .status: fate.see(self.seen)
            case .detail: fate.see(self.end == nil ? .pending : .finished)
            case .history:
                fate.see(history: self.end == nil ? .pending : self.end == .otherwise ? .otherwise : .asDecided)
            case .shortHistory: fate.see(history: nil)
            case .judged, .verified, .completed, .outage, .decidedSoElsewhere, .decidedOtherwiseElsewhere, .canceled,
                .fence:
                break
            }
        }

        var seen: DecisionFate.Counter {
            let comparison = CounterComparison(
                result: .inSync,
                distance: Int(self.moves - self.counter),
                window: 20
            )
            let status = ActivationStatus(
                state: .active,
                failedAttempts: self.failures,
                maximumFailedAttempts: 99,
                counter: comparison
            )
            return DecisionFate.Counter(status, moves: self.moves, of: self.decision)
        }

        /// Indicates whether what is said is what is, now and whatever comes.
        func bears(_ result: DecisionOutcome.Result?) -> Bool {
            let mayStillDecide = self.end == nil && (self.isWaiting || self.isRight && self.counter < 1)
            return switch result {
            case .accepted?: self.end == .ours
            case .refused?, .notFollowed?: self.end != .ours && !mayStillDecide
            case .inferred?: self.end == .ours || self.end == .so
            case .followed?: self.isRight && self.counter >= 1
            case .unknown?: !mayStillDecide
            case .unanswered?, .doubtful?, nil: true
            }
        }
    }

    @Test(arguments: [true, false], ["possession", "possession_knowledge"])
    func noOrderOfFiveEventsMakesItSayWhatIsNot(isRight: Bool, factors: String) {
        let intent = DecisionIntent(
            activationID: "a",
            operationID: "o",
            verdict: .approve,
            factors: SignatureType(rawValue: factors) ?? .possession,
            signed: "A1"
        )
        let start = World(decision: OpenDecision(intent, moves: 1), isRight: isRight)
        var (count, wrong, open) = (0, 0, 0)
        for isHeard in [true, false] {
            self.extend(start, nil, isHeard, 5) { world, fate in
                count += 1
                if !world.bears(fate.result) { wrong += 1 }
                if self.staysOpen(world, fate, .history) { open += 1 }
                // A history without it says nothing of one that is pending.
                if world.end != nil, self.staysOpen(world, fate, .shortHistory) { open += 1 }
            }
        }
        #expect(count > 50_000)
        #expect(wrong == 0)
        #expect(open == 0)
    }

    /// Goes through all orders. What is known begins with the answer, where that was heard, before the first look.
    private func extend(
        _ world: World,
        _ fate: DecisionFate?,
        _ isHeard: Bool,
        _ depth: Int,
        _ visit: (World, DecisionFate) -> Void
    ) {
        visit(world, fate ?? self.begin(world, isHeard))
        guard depth > 0 else { return }
        for event in World.Event.allCases {
            var next = world
            let isLook = [.status, .detail, .history, .shortHistory].contains(event)
            var known = isLook ? fate ?? self.begin(world, isHeard) : fate
            // A refusal that was heard was judged by a status.
            if isLook, fate == nil, isHeard, case .doubtful? = world.answer, world.counter == 1 { next.isSeen = true }
            next.pass(event)
            if var seen = known {
                next.show(event, to: &seen)
                known = seen
            }
            self.extend(next, known, isHeard, depth - 1, visit)
        }
    }

    /// As a refusal is judged: the status tells whether it was counted.
    private func begin(_ world: World, _ isHeard: Bool) -> DecisionFate {
        guard isHeard, let answer = world.answer else { return DecisionFate(.approve, Self.lost) }
        var fate = DecisionFate(.approve, answer)
        guard case .doubtful = answer else { return fate }
        if world.failures > 0 { fate.seeFailure() }
        fate.see(world.seen)
        return fate
    }

    /// Returns whether nothing ends it: neither a fence, nor the operation after that, nor a history.
    private func staysOpen(_ world: World, _ fate: DecisionFate, _ history: World.Event) -> Bool {
        var (world, fate) = (world, fate)
        world.complete()
        for event in [.fence, .status, .detail, history] {
            world.pass(event)
            world.show(event, to: &fate)
        }
        return fate.isOpen || !world.bears(fate.result)
    }
}
