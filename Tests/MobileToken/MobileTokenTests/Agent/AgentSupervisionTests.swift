import Basics
import Foundation
import MobileToken
import PowerAuth
import TestSupport
import Testing
import WireFacts

/// The next step of an agent, without a clock, a socket or a policy.
@Suite struct AgentSupervisionTests {
    private typealias Made = ReviewedOperation

    /// A supervision, and what it has asked for and not been told the end of.
    struct Desk {
        var supervision: AgentSupervision
        var now: Duration = .seconds(100)
        /// The work under way, oldest first.
        var jobs: [(name: String, job: AgentSupervision.Job)] = []
        var canceled: [String] = []
        /// Operations that were left, and are not listed any more.
        var unlisted: [String] = []
        /// Stopped activations whose status is asked for.
        var looks: [String] = []
        var events: [String] = []

        init(_ configure: (inout AgentSupervision.Limits) -> Void = { _ in }) {
            var limits = AgentSupervision.Limits()
            configure(&limits)
            self.supervision = AgentSupervision(limits)
        }

        init(listing operations: [UserOperation]) {
            self.init()
            self.follow(self.supervision.list(operations, unreadable: [], of: "a", at: self.now))
        }

        private mutating func follow(_ actions: [AgentSupervision.Action]) {
            for action in actions {
                switch action {
                case .review(let job, _): self.jobs.append(("review \(job.operationID)", job))
                case .send(let job, _, let verdict, let attempt):
                    self.jobs.append(("\(verdict) \(job.operationID) \(attempt)", job))
                case .resolve(let job, let decision, let isOver, let isLast):
                    let end = isLast ? " for good" : isOver ? " at last" : ""
                    self.jobs.append(("resolve \(job.operationID) \(decision.moves)\(end)", job))
                case .look(let activationID): self.looks.append(activationID)
                case .cancel(let job): self.canceled.append(job.operationID)
                case .unlisted(let operationID, _): self.unlisted.append(operationID)
                case .report(let event):
                    self.events.append("\(event.operation?.id ?? event.activationID) \(event.kind)")
                }
            }
        }

        var work: [String] { self.jobs.map(\.name) }

        /// Ends a piece of work that is under way.
        private mutating func end(
            _ name: String,
            _ body: (inout AgentSupervision, AgentSupervision.Job) -> [AgentSupervision.Action]
        ) {
            guard let index = self.jobs.firstIndex(where: { $0.name == name }) else {
                Issue.record("\(name) is not under way, but \(self.work)")
                return
            }
            let job = self.jobs.remove(at: index).job
            self.follow(body(&self.supervision, job))
        }

        /// Operations as a server lists them: the newest first.
        mutating func list(_ operations: UserOperation..., unreadable: String..., of activation: String = "a") {
            let unreadable = Set(unreadable.map { ExactString($0) })
            self.follow(self.supervision.list(operations, unreadable: unreadable, of: activation, at: self.now))
        }

        mutating func returned(_ verdict: ApprovalAgent.Verdict, from name: String) {
            let now = self.now
            self.end(name) { $0.policyReturned(.verdict(verdict), from: $1, at: now) }
        }

        mutating func threw(_ name: String) {
            struct Broken: Error {}
            let now = self.now
            self.end(name) { $0.policyReturned(.failed(Broken()), from: $1, at: now) }
        }

        mutating func sent(_ error: MobileTokenError?, by name: String) {
            let now = self.now
            self.end(name) { $0.sent(error, by: $1, at: now, random: 0) }
        }

        mutating func resolved(_ result: AgentSupervision.Resolution, by name: String) {
            let now = self.now
            self.end(name) { $0.resolved(result, by: $1, at: now, random: 0) }
        }

        mutating func pass(_ duration: Duration) {
            self.now += duration
            self.follow(self.supervision.wake(at: self.now))
        }

        mutating func hold(_ isHeld: Bool, _ activation: String = "a") {
            self.follow(self.supervision.setHeld(isHeld, activation, at: self.now))
        }

        mutating func forget(_ activation: String = "a") {
            self.follow(self.supervision.forget(activation, at: self.now))
        }

        mutating func release(_ activation: String = "a") {
            self.follow(self.supervision.release(activation, at: self.now))
        }

        mutating func adopt(
            _ decision: OpenDecision,
            for timeLeft: Duration = .seconds(20),
            of activation: String = "a"
        ) {
            self.follow(self.supervision.adopt([(decision, timeLeft)], of: activation, at: self.now))
        }

        mutating func adoptNothing(of activation: String = "a") {
            self.follow(self.supervision.adopt([], of: activation, at: self.now))
        }

        mutating func looked(isWell: Bool, at activation: String = "a") {
            self.looks.removeAll { $0 == activation }
            self.follow(self.supervision.looked(at: activation, isWell: isWell, at: self.now))
        }

        mutating func resume(_ activation: String) {
            self.follow(self.supervision.resume(activation, at: self.now))
        }

        mutating func resume() { self.follow(self.supervision.resume(at: self.now)) }
        mutating func shutDown() { self.follow(self.supervision.shutDown()) }

        mutating func takeEvents() -> [String] {
            defer { self.events = [] }
            return self.events
        }
    }

    private func operation(_ id: String, age: Double = 0, name: String = "login", data: String = "A2") -> UserOperation
    {
        UserOperation(id: id, name: name, data: data, created: Date(timeIntervalSince1970: 1_000_000 - age))
    }

    /// A desk with operations, the newest first.
    private func listed(_ ids: String...) -> Desk {
        Desk(listing: ids.enumerated().map { self.operation($1, age: Double($0)) })
    }

    /// A desk with an operation whose approval is sent.
    private func approved(_ id: String) -> Desk {
        var desk = self.listed(id)
        desk.returned(.approve, from: "review \(id)")
        return desk
    }

    private func error(
        _ code: MobileTokenError.Code,
        _ httpStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) -> MobileTokenError {
        MobileTokenError(code, "", httpStatus: httpStatus, retryAfter: retryAfter)
    }

    /// The server's own refusal.
    private func refusal(
        _ code: MobileTokenError.Code,
        _ httpStatus: Int,
        remainingAttempts: Int? = nil
    ) -> MobileTokenError {
        MobileTokenError(code, "", httpStatus: httpStatus, serverCode: "X", remainingAttempts: remainingAttempts)
    }

    // MARK: Order

    @Test func anActivationsOperationsComeOneAfterTheOtherTheOldestFirst() {
        var desk = Desk()
        desk.list(self.operation("new"), self.operation("old", age: 60))
        #expect(desk.work == ["review old"])
        desk.returned(.approve, from: "review old")
        #expect(desk.work == ["approve old 1"])
        desk.sent(.accepted, by: "approve old 1")
        #expect(desk.work == ["review new"])
        #expect(desk.takeEvents() == ["old judged: approve", "old decided: approve"])
    }

    @Test func operationsOfOneInstantComeInTheReversedOrderOfTheList() {
        var desk = Desk()
        desk.list(self.operation("2"), self.operation("1"))
        #expect(desk.work == ["review 1"])
    }

    @Test func activationsAreWorkedOnBesideEachOtherUpToTheLimit() {
        var desk = Desk { $0.maximumConcurrency = 2 }
        for activation in ["a", "b", "c"] { desk.list(self.operation("\(activation)1"), of: activation) }
        #expect(desk.work == ["review a1", "review b1"])
        desk.returned(.deferToPeople, from: "review a1")
        #expect(desk.work == ["review b1", "review c1"])
    }

    /// A policy that approves everything does not let the first activation take all the turns.
    @Test func turnsGoRound() {
        var desk = Desk { $0.maximumConcurrency = 1 }
        desk.list(self.operation("a2"), self.operation("a1", age: 1), of: "a")
        desk.list(self.operation("b1"), of: "b")
        desk.returned(.deferToPeople, from: "review a1")
        #expect(desk.work == ["review b1"])
        desk.returned(.deferToPeople, from: "review b1")
        #expect(desk.work == ["review a2"])
    }

    @Test func thereIsNeverMoreWaitingThanIsListed() {
        var desk = Desk { $0.maximumConcurrency = 1 }
        for round in 0..<100 { desk.list(self.operation("\(round)"), self.operation("x")) }
        #expect(desk.supervision.counts.open == 2)  // the newest, and the one that stayed and is worked on
        #expect(desk.work.count == 1)
    }

    // MARK: Verdicts

    @Test func whatIsLeftIsAskedAboutAgainWhenItChanges() {
        var desk = self.listed("1")
        desk.returned(.deferToPeople, from: "review 1")
        desk.list(self.operation("1"))
        #expect(desk.work == [])
        #expect(desk.supervision.counts.left == 1)
        desk.list(self.operation("1", name: "other"))
        #expect(desk.work == ["review 1"])
    }

    @Test func whatThePolicyLeavesIsLeftForItsReason() {
        var desk = self.listed("1")
        desk.returned(.deferToPeople(reason: "over the limit"), from: "review 1")
        #expect(desk.takeEvents() == ["1 left: over the limit"])
        desk.list()
        #expect(desk.unlisted == ["1"])
        #expect(desk.takeEvents() == [])
    }

    /// DEFECTS3, 6: it may wait for a decision all the same, and has an event of its own.
    @Test func whatCannotBeReadAnyMoreIsNotGone() {
        var desk = self.listed("2", "1")
        desk.returned(.askAgain(after: .seconds(60)), from: "review 1")
        desk.returned(.approve, from: "review 2")
        _ = desk.takeEvents()
        desk.list(unreadable: "1", "2")
        #expect(desk.takeEvents() == [])
        desk.sent(MobileTokenError(.noConnection, ""), by: "approve 2 1")
        #expect(desk.takeEvents() == [] && desk.work == [])
        desk.list(self.operation("1"))
        #expect(desk.work == ["review 1"])
        desk.returned(.askAgain(after: .seconds(60)), from: "review 1")
        _ = desk.takeEvents()
        desk.list()
        #expect(desk.takeEvents() == ["1 gone before it was decided"])
    }

    @Test func whatIsPutOffIsAskedAboutAgainAfterItsTimeOrWhenItChanges() {
        var desk = self.listed("1")
        desk.returned(.askAgain(after: .seconds(60)), from: "review 1")
        desk.pass(.seconds(59))
        #expect(desk.work == [])
        desk.pass(.seconds(1))
        #expect(desk.work == ["review 1"])
        desk.returned(.askAgain(after: .seconds(60)), from: "review 1")
        desk.list(self.operation("1", name: "other"))
        #expect(desk.work == ["review 1"])
    }

    @Test(arguments: [Duration.zero, .seconds(-5), .seconds(Int64.max), .nanoseconds(1)])
    func noDelayIsTooShortOrTooLong(delay: Duration) {
        var desk = self.listed("1", "0")
        desk.returned(.askAgain(after: delay), from: "review 0")
        #expect(desk.work == ["review 1"])  // the others pass
        desk.returned(.deferToPeople, from: "review 1")
        desk.pass(.milliseconds(999))
        #expect(desk.work == [])
    }

    @Test func aVerdictOnWhatHasChangedMeanwhileDoesNotCount() {
        var desk = self.listed("1")
        desk.list(self.operation("1", data: "A3"))
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == ["review 1"])
        #expect(desk.takeEvents() == [])
        // Also when it is given already, and not sent yet.
        desk.supervision.pause()
        desk.returned(.approve, from: "review 1")
        desk.list(self.operation("1", data: "A4"))
        desk.resume()
        #expect(desk.work == ["review 1"])
    }

    @Test func aVerdictOnWhatIsGoneDoesNotCount() {
        var desk = self.listed("1")
        desk.list()
        #expect(desk.canceled == ["1"])
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == [])
        #expect(desk.supervision.counts.open == 0)
    }

    @Test func aPolicyThatThrowsLeaves() {
        var desk = self.listed("1")
        desk.threw("review 1")
        #expect(desk.takeEvents() == ["1 left: the policy threw Broken"])
        #expect(desk.supervision.counts.left == 1)
    }

    @Test func whatIsNotCompleteIsLeftWithoutAskingUnlessToldOtherwise() {
        var desk = Desk()
        desk.list(self.operation("1", data: ""))
        #expect(desk.work == [])
        #expect(desk.takeEvents() == ["1 left: incomplete: undocumentedData"])
        var other = Desk { $0.reviewsIncomplete = true }
        other.list(self.operation("1", data: ""))
        #expect(other.work == ["review 1"])
    }

    @Test func whatIsNotPendingIsNotListed() {
        var desk = Desk()
        desk.list(UserOperation(id: "1", name: "login", data: "A2", status: .approved))
        #expect(desk.work == [])
    }

    // MARK: The policy's deadline

    @Test func aSlowPolicyIsGivenUpAndItsAnswerComesTooLate() {
        var desk = self.listed("1", "0")
        desk.pass(.seconds(29))
        #expect(desk.canceled == [])
        desk.pass(.seconds(1))
        #expect(desk.canceled == ["0"])
        #expect(desk.takeEvents() == ["0 left: the policy took too long"])
        #expect(desk.work == ["review 0", "review 1"])
        desk.returned(.approve, from: "review 0")
        #expect(desk.work == ["review 1"])
        #expect(desk.takeEvents() == [])
    }

    /// Otherwise a policy that hangs would pile up with each change of the operation.
    @Test func aPolicyThatStillRunsIsNotAskedAgain() {
        var desk = self.listed("1")
        desk.pass(.seconds(30))
        for round in 0..<10 { desk.list(self.operation("1", name: "\(round)")) }
        #expect(desk.work == ["review 1"])
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == ["review 1"])
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == ["approve 1 1"])
    }

    @Test func deadlinesOfPoliciesThatReturnedAreForgotten() {
        var desk = Desk()
        for number in 0..<1_000 {
            desk.list(self.operation("\(number)"))
            desk.returned(.deferToPeople, from: "review \(number)")
        }
        #expect(desk.supervision.alarmCount <= 200)
        #expect(desk.supervision.nextWakeUp() == nil)
        #expect(desk.supervision.alarmCount == 0)
    }

    // MARK: Trouble

    @Test func passingTroubleIsTriedAgainLaterAndLaterWhileTheOthersPass() {
        var desk = self.listed("1", "0")
        desk.returned(.approve, from: "review 0")
        for (attempt, wait) in [1.6, 3.2, 6.4, 12.8, 25.6, 30, 30].enumerated() {
            desk.sent(.failed(self.error(.noConnection)), by: "approve 0 \(attempt + 1)")
            if attempt == 0 { desk.returned(.deferToPeople, from: "review 1") }
            desk.pass(.seconds(wait) - .milliseconds(1))
            #expect(desk.work == [])
            desk.pass(.milliseconds(1))
            #expect(desk.work == ["approve 0 \(attempt + 2)"])
        }
        // The policy was asked once.
        #expect(desk.takeEvents().filter { $0.contains("judged") || $0.contains("left") }.count == 2)
    }

    @Test func theServersRetryAfterIsHeeded() {
        var desk = self.approved("1")
        desk.sent(.failed(self.error(.serverError, 503, retryAfter: .seconds(120))), by: "approve 1 1")
        desk.pass(.seconds(119))
        #expect(desk.work == [])
        desk.pass(.seconds(1))
        #expect(desk.work == ["approve 1 2"])
    }

    /// Changed during the request, or while the next one waits.
    @Test(arguments: [true, false]) func theVerdictOnWhatHasChangedIsNotSentAgain(isDuring: Bool) {
        var desk = self.approved("1")
        if isDuring { desk.list(self.operation("1", data: "A3")) }
        desk.sent(.failed(self.error(.noConnection)), by: "approve 1 1")
        if !isDuring { desk.list(self.operation("1", data: "A3")) }
        #expect(desk.work == ["review 1"])
        desk.returned(.deferToPeople, from: "review 1")
        desk.pass(.seconds(1_000))
        #expect(desk.work == [])
    }

    @Test(arguments: [true, false]) func aReviewMeanwhileDoesNotShortenTheServersRetryAfter(isDuring: Bool) {
        var desk = self.approved("1")
        if isDuring { desk.list(self.operation("1", data: "A3")) }
        desk.sent(.failed(self.error(.serverError, 503, retryAfter: .seconds(120))), by: "approve 1 1")
        if !isDuring { desk.list(self.operation("1", data: "A3")) }
        desk.returned(.approve, from: "review 1")
        desk.pass(.seconds(119))
        #expect(desk.work == [])
        desk.pass(.seconds(1))
        #expect(desk.work == ["approve 1 2"])
    }

    @Test func whatLeftTheListIsNotTriedAgain() {
        var desk = self.approved("1")
        desk.sent(.failed(self.error(.noConnection)), by: "approve 1 1")
        desk.list()
        _ = desk.takeEvents()
        desk.pass(.seconds(1_000))
        #expect(desk.work == [])
        desk.list(self.operation("2"))
        desk.returned(.approve, from: "review 2")
        desk.list()  // while it is sent
        desk.sent(.failed(self.error(.noConnection)), by: "approve 2 1")
        #expect(desk.events.last == "2 gone before it was decided")
        desk.pass(.seconds(1_000))
        #expect(desk.work == [])
    }

    @Test(arguments: [
        (MobileTokenError.Code.serverError, 400), (.invalidRequest, 400), (.operationFailed, 401), (.serverError, 404),
        (.serverError, 401),
    ])
    func aRefusalIsFinal(code: MobileTokenError.Code, status: Int) {
        var desk = self.listed("2", "1")
        desk.returned(.approve, from: "review 1")
        desk.sent(.failed(self.refusal(code, status)), by: "approve 1 1")
        #expect(desk.work == ["review 2"])
        #expect(desk.takeEvents().last?.hasPrefix("1 refused: \(code)") == true)
        desk.returned(.deferToPeople, from: "review 2")
        desk.list(self.operation("2"), self.operation("1", age: 1, name: "changed"))
        desk.pass(.seconds(10_000))
        #expect(desk.work == [])
    }

    @Test(arguments: [
        MobileTokenError.Code.operationAlreadyFinished, .operationAlreadyFailed, .operationAlreadyCanceled,
        .operationAlreadyRejected, .authorizeExpired, .rejectExpired,
    ])
    func whatIsOverIsOver(code: MobileTokenError.Code) {
        var desk = self.approved("1")
        desk.sent(.failed(self.error(code, 400)), by: "approve 1 1")
        #expect(desk.takeEvents().last?.hasPrefix("1 finished elsewhere") == true)
        desk.pass(.seconds(10_000))
        #expect(desk.work == [])
    }

    @Test(
        arguments: [
            (MobileTokenError.Code.serverError, 500), (.httpStatus, 502), (.serverError, 429), (.httpStatus, 408),
            (.activationBlocked, 401), (.activationPending, 401), (.storeFull, nil), (.timeout, nil),
            (.invalidResponse, 200),
            (.serverError, 503), (.httpStatus, 401), (.httpStatus, 403), (.httpStatus, 404), (.httpStatus, 413),
            (.httpStatus, 429), (.httpStatus, 499), (.authenticationFailed, 401),
        ] as [(MobileTokenError.Code, Int?)]
    )
    func whatMayPassIsTriedAgain(code: MobileTokenError.Code, status: Int?) {
        var desk = self.listed("1")
        desk.returned(.reject(.unexpectedOperation), from: "review 1")
        desk.sent(.failed(self.error(code, status)), by: "reject (UNEXPECTED_OPERATION) 1 1")
        desk.pass(.seconds(60))
        #expect(desk.work == ["reject (UNEXPECTED_OPERATION) 1 2"])
    }

    /// The status after the server's own refusal explains it: an action at the server ends that.
    @Test(arguments: [MobileTokenError.Code.activationBlocked, .activationPending])
    func whatAnActivationOnHoldWasRefusedIsTriedAgain(code: MobileTokenError.Code) {
        var desk = self.approved("1")
        desk.sent(.failed(self.refusal(code, 401)), by: "approve 1 1")
        desk.pass(.seconds(60))
        #expect(desk.work == ["approve 1 2"])
    }

    @Test func factorsThatTheOperationDoesNotTakeLeaveItToPeople() {
        var desk = self.approved("1")
        desk.sent(.failed(self.error(.factorsNotAllowed)), by: "approve 1 1")
        #expect(desk.takeEvents().last?.hasPrefix("1 left: factorsNotAllowed") == true)
        desk.list(self.operation("1", name: "changed"))
        #expect(desk.work == ["review 1"])
    }

    /// The server says so itself, but counts no failure: the factors are not what it refuses.
    @Test(.wireFact("2.6")) func aRefusalThatIsNotCountedIsTriedAgain() {
        var desk = self.approved("1")
        desk.sent(.failed(self.refusal(.authenticationFailed, 401)), by: "approve 1 1")
        #expect(desk.supervision.stopReasons.count == 0)
        desk.pass(.seconds(2))
        #expect(desk.work == ["approve 1 2"])
    }

    private func stopped() -> Desk {
        var desk = self.approved("1")
        desk.sent(.failed(self.refusal(.authenticationFailed, 401, remainingAttempts: 4)), by: "approve 1 1")
        #expect(desk.supervision.stopReasons.mapValues(\.code) == ["a": .authenticationFailed])
        return desk
    }

    /// It may have been put right there. Until this process looks again, it signs nothing all the same.
    @Test func anActivationThatAnotherProcessHasIsNotToldAsStopped() {
        var desk = self.stopped()
        desk.release()
        #expect(desk.supervision.stopReasons.isEmpty)
        desk.adoptNothing()
        desk.list(self.operation("1"))
        #expect(desk.work == [] && desk.supervision.stopReasons.count == 1)
        desk.looked(isWell: true)
        #expect(desk.work == ["review 1"])
    }

    @Test func aStoppedActivationIsLookedAtAgainAndGoesOnWhenItIsWell() {
        var desk = self.stopped()
        desk.pass(.seconds(299))
        #expect(desk.looks == [])
        desk.pass(.seconds(1))
        #expect(desk.looks == ["a"])
        desk.looked(isWell: false)
        desk.pass(.seconds(299))
        #expect(desk.looks == [] && desk.work == [])
        desk.pass(.seconds(1))
        desk.looked(isWell: true)
        #expect(desk.work == ["approve 1 2"])
        #expect(desk.events.last == "a resumed")
        #expect(desk.supervision.stopReasons.count == 0)
        desk.pass(.seconds(10_000))
        #expect(desk.looks == [])
    }

    @Test func aStoppedActivationGoesOnWhenItIsToldTo() {
        var desk = self.stopped()
        desk.resume("b")
        #expect(desk.work == [])
        desk.resume("a")
        #expect(desk.work == ["approve 1 2"])
        desk.pass(.seconds(10_000))
        #expect(desk.looks == [])
    }

    @Test func whatWasLeftByAStoppedActivationAndChangedIsReviewedAgain() {
        var desk = self.stopped()
        desk.list(self.operation("1", name: "changed"))
        desk.resume("a")
        #expect(desk.work == ["review 1"])
    }

    /// A few wrong passwords block the activation.
    @Test(arguments: [MobileTokenError.Code.authenticationFailed, .activationRemoved, .deadlock, .stateRolledBack])
    func anActivationThatCannotSignStops(code: MobileTokenError.Code) {
        var desk = self.listed("2", "1")
        desk.list(self.operation("3"), of: "b")
        desk.returned(.approve, from: "review 1")
        desk.sent(.failed(self.refusal(code, 401, remainingAttempts: 4)), by: "approve 1 1")
        #expect(desk.events.suffix(2).map { $0.prefix(9) } == ["1 refused", "a stopped"])
        desk.returned(.deferToPeople, from: "review 3")  // others go on
        desk.hold(false)
        desk.list(self.operation("4"))
        desk.pass(.seconds(10_000))
        #expect(desk.work == [])
    }

    // MARK: Lost answers

    /// An approval of operation 0 whose response was lost.
    private func lostApproval(attempt: Int = 1, moves: UInt64 = 7) -> OpenDecision {
        let intent = DecisionIntent(
            activationID: "a",
            operationID: "0",
            attempt: attempt,
            verdict: .approve,
            factors: .possessionKnowledge,
            signed: ""
        )
        return OpenDecision(intent, moves: moves)
    }

    private func lost() -> Desk {
        var desk = self.listed("1", "0")
        desk.returned(.approve, from: "review 0")
        desk.sent(.unanswered(self.lostApproval(), self.error(.timeout)), by: "approve 0 1")
        #expect(desk.work == ["resolve 0 7"])
        return desk
    }

    @Test func aLostAnswerIsTracedBeforeAnythingElseIsSigned() {
        var desk = self.lost()
        desk.resolved(.failed(self.error(.noConnection)), by: "resolve 0 7")
        #expect(desk.work == [])
        desk.pass(.seconds(2))
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.work == ["review 1"])
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
    }

    /// A proxy's page in place of the answer ends nothing while the operation's time is not over.
    @Test func aQuestionIsAskedAgainUntilTheOperationsTimeIsOver() {
        var desk = self.lost()
        var (name, askedFor) = ("resolve 0 7", Duration.zero)
        while !name.hasSuffix("for good"), askedFor < .seconds(3_600) {
            desk.resolved(.failed(self.error(.httpStatus, 404)), by: name)
            while desk.work.isEmpty, askedFor < .seconds(3_600) {
                desk.pass(.seconds(1))
                askedFor += .seconds(1)
            }
            name = desk.work.first ?? "nothing for good"
        }
        #expect(name == "resolve 0 7 for good")
        #expect(askedFor >= .seconds(60))
        desk.resolved(.unknown, by: name)
        #expect(desk.takeEvents().last == "0 unknown")
    }

    @Test func aLostAnswerIsTracedThoughTheOperationIsGoneFromTheList() {
        var desk = self.lost()
        desk.list(self.operation("1"))
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
        #expect(desk.supervision.counts.open == 1)
    }

    /// The first look shows that the operation is pending. The others of the activation go on.
    private func look(_ desk: inout Desk) {
        desk.resolved(.pending, by: "resolve 0 7")
        desk.returned(.deferToPeople, from: "review 1")
    }

    /// A request that is still on its way may arrive after the first look.
    @Test func aDecisionThatCameToNothingIsMadeAgainOnceItCannotArriveAnyMore() {
        var desk = self.lost()
        desk.pass(.seconds(5))
        self.look(&desk)
        desk.pass(.seconds(14.9))
        #expect(desk.work == [])
        desk.pass(.seconds(0.1))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        #expect(desk.work == [])
        desk.pass(.seconds(1.6))
        #expect(desk.work == ["approve 0 2"])
    }

    @Test func aDecisionThatArrivedAfterTheFirstLookIsOurs() {
        var desk = self.lost()
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.ours, by: "resolve 0 7 at last")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
    }

    @Test func aDecisionThatCameToNothingIsReviewedAgainWhenTheOperationChanged() {
        var desk = self.lost()
        desk.list(self.operation("1"), self.operation("0", age: 1, name: "changed"))
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        #expect(desk.work == ["review 0"])
    }

    /// A server that says in its own words that it failed has the request behind it; so the look is the last one, and the retry
    /// waits as after any trouble.
    @Test func aServersErrorIsNoRequestOnItsWay() {
        var desk = self.approved("0")
        let error = MobileTokenError(.serverError, "", httpStatus: 500, serverCode: "ERROR_GENERIC")
        for (attempt, wait) in [1.6, 3.2, 6.4].enumerated() {
            desk.sent(.unanswered(self.lostApproval(), error), by: "approve 0 \(attempt + 1)")
            desk.resolved(.pending, by: "resolve 0 7 at last")
            #expect(desk.work == [])
            desk.pass(.seconds(wait))
        }
        #expect(desk.work == ["approve 0 4"])
    }

    /// A gateway may answer 500 before a server that works on the request.
    @Test func behindAPageTheRequestMayBeOnItsWay() {
        var desk = self.approved("0")
        desk.sent(.unanswered(self.lostApproval(), self.error(.httpStatus, 500)), by: "approve 0 1")
        desk.resolved(.pending, by: "resolve 0 7")
        desk.pass(.seconds(19))
        #expect(desk.work == [])
        desk.pass(.seconds(1))
        #expect(desk.work == ["resolve 0 7 at last"])
    }

    // MARK: Decisions of an earlier process

    private func adopted() -> Desk {
        var desk = Desk()
        desk.adopt(self.lostApproval(attempt: 3))
        desk.list(self.operation("1"), self.operation("0", age: 1))
        #expect(desk.work == ["resolve 0 7"])
        return desk
    }

    @Test func whatAnEarlierProcessSentIsTracedFirst() {
        var desk = self.adopted()
        desk.list(self.operation("1"))
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
        #expect(desk.work == ["review 1"])
    }

    @Test func whatAnEarlierProcessSentInVainIsReviewed() {
        var desk = self.adopted()
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        #expect(desk.work == ["review 0"])
        desk.returned(.approve, from: "review 0")
        #expect(desk.work == ["approve 0 4"])
    }

    private func undetermined() -> Desk {
        var desk = self.adopted()
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.undetermined, by: "resolve 0 7 at last")
        return desk
    }

    /// A store returns it again and again, until the operation's end tells more.
    @Test func whatWasAskedAboutInVainIsNotAdoptedWhileTheOperationWaits() {
        var desk = self.undetermined()
        desk.adopt(self.lostApproval(attempt: 3), for: .zero)
        #expect(desk.work == ["review 0"])
        desk.returned(.deferToPeople, from: "review 0")
        desk.adopt(self.lostApproval(attempt: 3), for: .zero)
        #expect(desk.work == [])
    }

    /// Whatever was done about the operation since. A store that loses nothing would not return the decision again.
    @Test(arguments: ["left", "under review", "sent"])
    func whatWasAskedAboutInVainIsAskedAboutOnceMoreWhenTheOperationEnds(_ state: String) {
        var desk = self.undetermined()
        switch state {
        case "left":
            desk.returned(.deferToPeople, from: "review 0")
            desk.list()
            #expect(desk.unlisted.contains("0"))
        case "under review":
            desk.list()
            desk.returned(.approve, from: "review 0")
        default:
            desk.returned(.approve, from: "review 0")
            desk.list()
            desk.sent(self.error(.noConnection), by: "approve 0 4")
        }
        #expect(desk.work == ["resolve 0 7 at last"])
        desk.resolved(.unknown, by: "resolve 0 7 at last")
        #expect(desk.takeEvents().last == "0 unknown")
        desk.list()
        #expect(desk.work == [])
    }

    /// As when a list is older than the answer to the question.
    @Test func whatIsAskedAboutAsItLeavesTheListIsAskedAboutOnce() {
        var desk = self.undetermined()
        desk.returned(.deferToPeople, from: "review 0")
        desk.list()
        desk.resolved(.undetermined, by: "resolve 0 7 at last")
        #expect(desk.work == [])
        #expect(desk.supervision.activationCount == 0)
    }

    /// Another process adopts it, or nobody can ask.
    @Test(arguments: [false, true]) func whatIsReleasedIsNotAskedAboutOnceMore(isReleased: Bool) {
        var desk = self.undetermined()
        desk.returned(.deferToPeople, from: "review 0")
        if isReleased { desk.release() } else { desk.forget() }
        #expect(desk.work == [])
        #expect(desk.supervision.activationCount == 0)
    }

    @Test func whatIsCertainIsNotAskedAboutOnceMore() {
        var desk = self.adopted()
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        desk.returned(.deferToPeople, from: "review 0")
        desk.list()
        #expect(desk.work == [])
    }

    /// A person may have decided what the policy leaves, while the agent was working.
    @Test func whatSomebodyElseSentInVainMeanwhileIsReviewed() {
        var desk = self.listed("0")
        desk.returned(.deferToPeople, from: "review 0")
        desk.adopt(self.lostApproval(attempt: 3), for: .zero)
        desk.resolved(.pending, by: "resolve 0 7 at last")
        desk.pass(.seconds(1.6))
        #expect(desk.work == ["review 0"])
        desk.returned(.deferToPeople, from: "review 0")
        #expect(desk.work == [])
    }

    /// However long this process' own requests may take.
    @Test func whatAnEarlierProcessSentIsWaitedForUntilItsOwnMoment() {
        var desk = Desk()
        desk.adopt(self.lostApproval(), for: .seconds(300))
        desk.resolved(.pending, by: "resolve 0 7")
        desk.pass(.seconds(299))
        #expect(desk.work == [])
        desk.pass(.seconds(1))
        #expect(desk.work == ["resolve 0 7 at last"])
    }

    @Test func whatAnEarlierProcessSentLongAgoIsNotWaitedFor() {
        var desk = Desk()
        desk.adopt(self.lostApproval(), for: .zero)
        #expect(desk.work == ["resolve 0 7 at last"])
    }

    /// Such as when an activation went to another process and came back.
    @Test func whatIsFoundOutAboutIsNotAdopted() {
        var desk = self.lost()
        desk.forget()
        desk.adopt(self.lostApproval())
        #expect(desk.work == ["resolve 0 7"])
        desk.resolved(.ours, by: "resolve 0 7")
        desk.list(self.operation("2"))
        #expect(desk.work == ["review 2"])
        #expect(desk.supervision.jobCount == 1)
    }

    /// The other process decided for the activation meanwhile, signed anew, and died before the answer came.
    @Test(arguments: [false, true]) func whatAnotherProcessSignedLaterIsFoundOutInItsPlace(isAsked: Bool) {
        var desk = self.lost()
        desk.release()
        if !isAsked {
            desk.resolved(.pending, by: "resolve 0 7")
            #expect(desk.work == [])
        }
        desk.adopt(self.lostApproval(attempt: 2, moves: 9))
        if isAsked { desk.resolved(.unknown, by: "resolve 0 7") }
        #expect(desk.work == ["resolve 0 9"])
        desk.resolved(.ours, by: "resolve 0 9")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
        #expect(desk.supervision.activationCount == 0)
    }

    /// As when a database went back, and lost the outcome.
    @Test func anUnknownFateThatIsOpenAgainIsAskedForAgain() {
        var desk = self.lost()
        desk.release()
        desk.resolved(.unknown, by: "resolve 0 7")
        #expect(desk.work == [])
        desk.adopt(self.lostApproval())
        #expect(desk.work == ["resolve 0 7"])
        // So is an earlier one, of which nothing is known here.
        desk.resolved(.unknown, by: "resolve 0 7")
        desk.adopt(self.lostApproval(moves: 5))
        #expect(desk.work == ["resolve 0 5"])
    }

    /// As when a database went back, and lost the outcome.
    @Test func whatIsDecidedAndOpenAgainIsFoundOutAbout() {
        var desk = self.approved("0")
        desk.adopt(self.lostApproval())
        #expect(desk.work == ["approve 0 1"])
        desk.sent(nil, by: "approve 0 1")
        #expect(desk.work == [])
        desk.adopt(self.lostApproval())
        #expect(desk.work == ["resolve 0 7"])
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
        #expect(desk.work == [])
    }

    /// As when a database went back, and lost that the first of two decisions came to nothing.
    @Test func anEarlierDecisionThatIsOpenAgainIsFoundOutAboutAfterTheLaterOne() {
        var desk = self.lost()
        desk.adopt(self.lostApproval(moves: 5), for: .zero)
        desk.adopt(self.lostApproval(moves: 5), for: .zero)
        self.look(&desk)
        desk.pass(.seconds(20))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        desk.resolved(.pending, by: "resolve 0 5 at last")
        #expect(desk.work == [])
        desk.pass(.seconds(1.6))
        #expect(desk.work == ["review 0"])
    }

    @Test func noneOfSeveralLostDecisionsIsForgotten() {
        var desk = self.lost()
        // The store tells of two that were signed later while the first is asked about, and of that one, too.
        for moves in [9, 8, 7] as [UInt64] { desk.adopt(self.lostApproval(moves: moves), for: .zero) }
        desk.resolved(.failed(self.error(.noConnection)), by: "resolve 0 7")
        desk.resolved(.unknown, by: "resolve 0 9 at last")
        desk.resolved(.unknown, by: "resolve 0 7 at last")
        desk.resolved(.ours, by: "resolve 0 8 at last")
        #expect(desk.takeEvents().last == "0 decided: approve, inferred")
    }

    @Test func whatSaysMostOfSeveralDecisionsCounts() {
        var desk = self.lost()
        desk.adopt(self.lostApproval(moves: 5))
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.takeEvents().allSatisfy { !$0.contains("decided") })
        desk.resolved(.unknown, by: "resolve 0 5")
        #expect(desk.takeEvents() == ["0 decided: approve, inferred"])
    }

    /// The earlier signature, such as a person's, decided nothing. The later one may have.
    @Test func thatOneDecisionDecidedNothingDoesNotTellOfAnother() {
        var desk = self.lost()
        desk.adopt(self.lostApproval(moves: 5))
        desk.resolved(.unknown, by: "resolve 0 7")
        desk.resolved(.elsewhere(self.error(.operationAlreadyFinished, 400)), by: "resolve 0 5")
        #expect(desk.takeEvents().last == "0 unknown")
    }

    @Test func anActivationThatAnotherProcessDecidesForIsLeftToIt() {
        var desk = self.lost()
        desk.release()
        desk.resolved(.failed(self.error(.notPolledHere)), by: "resolve 0 7")
        desk.pass(.seconds(1_000))
        #expect(desk.work == [])
        #expect(desk.supervision.activationCount == 0)
        #expect(desk.supervision.unknownCount == 0)
    }

    /// As of a node whose heartbeat is late: nobody else adopts the decision, and another signature would wipe out its trace.
    @Test func aMembershipThatCannotBeReliedOnForAMomentIsAskedAgain() {
        var desk = self.lost()
        desk.resolved(.failed(self.error(.notPolledHere)), by: "resolve 0 7")
        #expect(desk.work == [])
        desk.pass(.seconds(2))
        #expect(desk.work == ["resolve 0 7"])
        desk.resolved(.ours, by: "resolve 0 7")
        #expect(desk.work == ["review 1"])
    }

    @Test func anActivationThatCameBackIsAskedAboutAgain() {
        var desk = self.lost()
        desk.release()
        desk.adopt(self.lostApproval())
        desk.resolved(.failed(self.error(.notPolledHere)), by: "resolve 0 7")
        desk.pass(.seconds(2))
        #expect(desk.work == ["resolve 0 7"])
    }

    @Test func whatAnEarlierProcessSentInVainAndIsNotListedIsForgottenUntilItIs() {
        var desk = self.adopted()
        desk.list()
        desk.resolved(.pending, by: "resolve 0 7")
        desk.pass(.seconds(20))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        #expect(desk.supervision.activationCount == 0)
        desk.list(self.operation("0"))
        #expect(desk.work == ["review 0"])
    }

    /// The operation is over, and a signature that is accepted now would tell more.
    @Test func aFateIsNotUnknownBeforeTheFence() {
        let end = self.refusal(.operationAlreadyFinished, 400)
        var fate = DecisionFate(.approve, .unanswered(code: "timeout"))
        fate.see(.finished)
        guard case .pending = AgentSupervision.Resolution(fate, end: end) else {
            Issue.record("nothing is certain yet")
            return
        }
        fate.see(.past)
        guard case .unknown = AgentSupervision.Resolution(fate, end: end) else {
            Issue.record("nothing tells more")
            return
        }
    }

    @Test func anUnknownFateIsCountedAndNeverTriedAgain() {
        var desk = self.lost()
        desk.resolved(.unknown, by: "resolve 0 7")
        #expect(desk.takeEvents().last == "0 unknown")
        #expect(desk.supervision.unknownCount == 1)
        desk.returned(.deferToPeople, from: "review 1")
        // Not even when it left the list and came back.
        desk.list()
        desk.list(self.operation("0", name: "changed"))
        desk.pass(.seconds(10_000))
        #expect(desk.work == [])
    }

    @Test func whatWasDecidedElsewhereIsOver() {
        var desk = self.lost()
        desk.resolved(.elsewhere(self.error(.operationAlreadyFinished, 400)), by: "resolve 0 7")
        #expect(desk.takeEvents().last?.hasPrefix("0 finished elsewhere") == true)
        #expect(desk.work == ["review 1"])
    }

    @Test func tracingGoesOnWhileDecidingIsPausedOrHeld() {
        var desk = self.lost()
        desk.supervision.pause()
        desk.hold(true)
        desk.resolved(.failed(self.error(.timeout)), by: "resolve 0 7")
        desk.pass(.seconds(2))
        #expect(desk.work == ["resolve 0 7"])
        desk.pass(.seconds(60))
        desk.resolved(.pending, by: "resolve 0 7")
        desk.pass(.seconds(60))
        desk.resolved(.pending, by: "resolve 0 7 at last")
        desk.pass(.seconds(60))
        #expect(desk.work == [])
        desk.resume()
        #expect(desk.work == [])
        desk.hold(false)
        #expect(desk.work == ["approve 0 2"])
    }

    // MARK: Holding back

    @Test func aDecisionThatWasHeldBackIsMadeWhenDecidingGoesOn() {
        var desk = self.approved("1")
        desk.supervision.pause()  // what the refusal told
        _ = desk.takeEvents()
        desk.sent(.failed(MobileTokenError(.decidingPaused, "")), by: "approve 1 1")
        #expect(desk.work == [] && desk.takeEvents() == [])
        desk.pass(.seconds(600))
        #expect(desk.work == [])
        desk.resume()
        #expect(desk.work == ["approve 1 1"])
        desk.sent(.accepted, by: "approve 1 1")
        #expect(desk.takeEvents() == ["1 decided: approve"])
    }

    @Test func aDecisionThatWasHeldBackIsReviewedAgainWhenTheOperationChanged() {
        var desk = self.approved("1")
        desk.list(self.operation("1", data: "A3"))
        desk.supervision.pause()
        desk.sent(.failed(MobileTokenError(.decidingPaused, "")), by: "approve 1 1")
        desk.resume()
        #expect(desk.work == ["review 1"])
    }

    @Test func nothingIsBegunWhileDecidingIsPaused() {
        var desk = Desk()
        desk.supervision.pause()
        desk.list(self.operation("1"))
        #expect(desk.work == [])
        desk.resume()
        #expect(desk.work == ["review 1"])
        desk.supervision.pause()
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == [])
        desk.resume()
        #expect(desk.work == ["approve 1 1"])
    }

    @Test func nothingIsBegunWithAnActivationThatIsHeld() {
        var desk = Desk()
        desk.hold(true)
        desk.list(self.operation("1"))
        desk.list(self.operation("2"), of: "b")
        #expect(desk.work == ["review 2"])
        desk.hold(false)
        #expect(desk.work == ["review 2", "review 1"])
    }

    @Test func anActivationThatLeavesTakesItsWorkWithIt() {
        var desk = self.listed("2", "1")
        desk.forget()
        #expect(desk.canceled == ["1"])
        #expect(desk.takeEvents() == ["2 gone before it was decided"])
        desk.returned(.approve, from: "review 1")
        #expect(desk.work == [])
        #expect(desk.supervision.activationCount == 0)
    }

    @Test func afterTheShutdownNothingIsBegunAndWhatWasSentEnds() {
        var desk = Desk()
        desk.list(self.operation("1"), of: "a")
        desk.list(self.operation("2"), of: "b")
        desk.returned(.approve, from: "review 1")
        desk.shutDown()
        #expect(desk.canceled == ["2"])
        #expect(desk.supervision.counts.deciding == 1)
        desk.returned(.approve, from: "review 2")
        desk.list(self.operation("3"), of: "c")
        desk.sent(.accepted, by: "approve 1 1")
        #expect(desk.work == [])
        #expect(desk.supervision.counts.deciding == 0)
    }
}

/// The ends of sending a decision, as tests name them.
extension MobileTokenError? {
    fileprivate static var accepted: Self { nil }
    fileprivate static func failed(_ error: MobileTokenError) -> Self { error }

    fileprivate static func unanswered(_ decision: OpenDecision, _ error: MobileTokenError) -> Self {
        altered(error) { $0.decision = SignedDecision(decision, .unanswered(code: error.code.description)) }
    }
}
