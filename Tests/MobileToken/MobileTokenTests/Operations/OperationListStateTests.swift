import Foundation
import MobileToken
import Testing

@Suite struct OperationListStateTests {
    private let now = UserOperation.sampleDate

    private func state(_ ids: String...) -> OperationListState {
        var state = OperationListState()
        let fetch = state.beginFetch()
        _ = state.apply(ids.map { .sample($0) }, by: fetch, at: self.now)
        return state
    }

    @Test func aFetchedListIsComparedWithTheOneBefore() throws {
        var state = OperationListState()
        let before = [UserOperation.sample("a"), .sample("b"), .sample("c", expiresIn: 10), .sample("d")]
        let possibleFirst = state.apply(before, by: state.beginFetch(), at: self.now)
        let first = try #require(possibleFirst)
        #expect(first.addedIDs == ["a", "b", "c", "d"])

        let after = [UserOperation.sample("e"), .sample("a"), .sample("d", name: "login"), .sample("f")]
        let possibleSecond = state.apply(after, by: state.beginFetch(), at: self.now + 10)
        let second = try #require(possibleSecond)
        #expect(second.operations == after)
        #expect(second.addedIDs == ["e", "f"])
        #expect(second.updated == [.init(old: .sample("d"), new: .sample("d", name: "login"))])
        #expect(
            second.removed == [
                .init(operation: .sample("b"), reason: .disappeared),
                .init(operation: .sample("c", expiresIn: 10), reason: .expired),
            ]
        )
        #expect(second.source == .fetch)
    }

    @Test func anEqualOrMerelyReorderedListIsNoChange() {
        var state = self.state("a", "b", "c")
        #expect(state.apply(state.operations, by: state.beginFetch(), at: self.now) == nil)
        #expect(state.apply(state.operations.reversed(), by: state.beginFetch(), at: self.now) == nil)
        #expect(state.operations.map(\.id) == ["c", "b", "a"])
    }

    /// Long runs that leave, come or take the place of others, and the order kept in between.
    @Test(arguments: [(0..<200, 50..<250), (50..<250, 0..<200), (0..<200, 300..<500), (0..<200, 0..<0)])
    func longRunsAreComparedAsByDefinition(old: Range<Int>, new: Range<Int>) {
        let before = old.map { UserOperation.sample("\($0)") }
        let after = new.map { UserOperation.sample("\($0)", name: $0.isMultiple(of: 7) ? "login" : "payment") }
        let difference = OperationListDifference(from: before, to: after)
        #expect(difference.added.map(\.id) == new.filter { !old.contains($0) }.map { "\($0)" })
        #expect(difference.removed.map(\.id) == old.filter { !new.contains($0) }.map { "\($0)" })
        let changed = old.clamped(to: new).filter { $0.isMultiple(of: 7) }
        #expect(difference.updated.map(\.new.id) == changed.map { "\($0)" })
    }

    @Test func randomListsAreComparedAsByDefinition() {
        for _ in 0..<60 {
            let before = (0..<40).filter { _ in Bool.random() }.shuffled().map { UserOperation.sample("\($0)") }
            var after = (0..<40).filter { _ in Bool.random() }.map {
                UserOperation.sample("\($0)", name: Int.random(in: 0..<5) == 0 ? "login" : "payment")
            }
            if Bool.random() { after.shuffle() }
            let difference = OperationListDifference(from: before, to: after)
            let old = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0) })
            let new = Dictionary(uniqueKeysWithValues: after.map { ($0.id, $0) })
            #expect(difference.added == after.filter { old[$0.id] == nil })
            #expect(difference.removed == before.filter { new[$0.id] == nil })
            let updates = after.filter { old[$0.id] != nil && old[$0.id] != $0 }
            #expect(Set(difference.updated.map(\.new)) == Set(updates))
            #expect(difference.updated.allSatisfy { old[$0.new.id] == $0.old })
        }
    }

    @Test(arguments: [
        (OperationList.Change.RemovalReason.authorized, OperationList.Change.Source.authorization),
        (.rejected, .rejection),
    ])
    func aDecisionRemovesTheOperationForItsOwnReason(
        reason: OperationList.Change.RemovalReason,
        source: OperationList.Change.Source
    ) throws {
        var state = self.state("a", "b")
        state.beginDecision("a")
        let possibleChange = state.applyDecision("a", reason, source: source)
        let change = try #require(possibleChange)
        #expect(change.removed == [.init(operation: .sample("a"), reason: reason)])
        #expect(change.source == source)
        #expect(change.operationIDs == ["b"])
        _ = state.beginFetch()
        #expect(!state.isDoneWhenRepeated)
    }

    @Test func aListOnItsWayDuringADecisionDoesNotBringTheOperationBack() {
        var state = self.state("a", "b")
        let fetch = state.beginFetch()
        state.beginDecision("a")
        _ = state.applyDecision("a", .authorized, source: .authorization)
        #expect(state.apply([.sample("a"), .sample("b")], by: fetch, at: self.now) == nil)
        #expect(state.operations.map(\.id) == ["b"])
        // The next list is newer than the decision, so it is believed.
        #expect(state.apply([.sample("a")], by: state.beginFetch(), at: self.now)?.addedIDs == ["a"])
    }

    @Test func aListThatAlreadyShowsTheDecisionLeavesTheReasonToTheDecision() throws {
        var state = self.state("a", "b")
        state.beginDecision("a")
        #expect(state.apply([.sample("b")], by: state.beginFetch(), at: self.now) == nil)
        #expect(state.operations.map(\.id) == ["a", "b"])
        let possibleChange = state.applyDecision("a", .authorized, source: .authorization)
        let change = try #require(possibleChange)
        #expect(change.removed.map(\.reason) == [.authorized])
    }

    @Test func anOperationMissingWhileItsDecisionFailsLeavesThen() throws {
        var state = self.state("a", "b")
        state.beginDecision("a")
        state.beginDecision("a")
        _ = state.apply([.sample("b")], by: state.beginFetch(), at: self.now)
        #expect(state.failDecision("a", at: self.now) == nil)  // another one is still under way
        let possibleChange = state.failDecision("a", at: self.now)
        let change = try #require(possibleChange)
        #expect(change.removed.map(\.reason) == [.disappeared])
    }

    @Test func aDecisionThatFailsLeavesTheOperationListed() {
        var state = self.state("a", "b")
        state.beginDecision("a")
        #expect(state.failDecision("a", at: self.now) == nil)
        #expect(state.operations.map(\.id) == ["a", "b"])
    }

    @Test func aClaimedOperationIsAddedOrUpdatedAndSurvivesAnOlderList() {
        var state = self.state("a")
        let fetch = state.beginFetch()
        #expect(state.applyClaim(.sample("b"))?.addedIDs == ["b"])
        #expect(state.applyClaim(.sample("b")) == nil)
        #expect(state.applyClaim(.sample("a", name: "login"))?.updatedIDs == ["a"])
        _ = state.apply([.sample("a")], by: fetch, at: self.now)
        #expect(state.operations.map(\.id) == ["a", "b"])
        #expect(state.apply([.sample("a")], by: state.beginFetch(), at: self.now)?.removedIDs == ["b"])
    }

    @Test func anAnswerOfASupersededFetchIsIgnored() {
        var state = self.state("a")
        let old = state.beginFetch()
        let new = state.beginFetch()
        #expect(state.apply([.sample("x")], by: old, at: self.now) == nil)
        #expect(state.apply([.sample("a"), .sample("b")], by: new, at: self.now)?.addedIDs == ["b"])
        #expect(state.apply([], by: new, at: self.now) == nil)  // each answers once
        #expect(state.operations.map(\.id) == ["a", "b"])
    }

    // MARK: Claims and decisions

    @Test func aClaimShowsSomeMomentSinceItWasSent() {
        // Decided, or gone from the list, since then: the response may be older.
        var decided = self.state("a")
        decided.claimBegan("a")
        decided.beginDecision("a")
        _ = decided.applyDecision("a", .authorized, source: .authorization)
        #expect(decided.applyClaim(.sample("a")) == nil)
        #expect(decided.operations == [])

        var disappeared = self.state("a")
        disappeared.claimBegan("a")
        _ = disappeared.apply([], by: disappeared.beginFetch(), at: self.now)
        #expect(disappeared.applyClaim(.sample("a")) == nil)
        #expect(disappeared.operations == [])

        // Not yet listed is not gone.
        var early = self.state()
        early.claimBegan("a")
        _ = early.apply([], by: early.beginFetch(), at: self.now)
        #expect(early.applyClaim(.sample("a"))?.addedIDs == ["a"])
    }

    @Test func aDecisionOnWhatIsNotListedOutlivesAClaimsResponse() {
        var state = self.state()
        state.claimBegan("a")
        state.beginDecision("a")
        #expect(state.applyDecision("a", .authorized, source: .authorization) == nil)
        #expect(state.applyClaim(.sample("a")) == nil)
        #expect(state.operations == [])
    }

    @Test func aFailedClaimIsForgotten() {
        var state = self.state("a")
        state.claimBegan("a")
        _ = state.applyDecision("a", .rejected, source: .rejection)
        state.claimFailed("a")
        state.claimBegan("a")
        #expect(state.applyClaim(.sample("a"))?.addedIDs == ["a"])
    }

    @Test func newsDuringAFetchAsksForAnother() {
        var state = self.state("a")
        let idle = state.needsNewerList()
        #expect(idle)
        let first = state.beginFetch()
        let busy = state.needsNewerList()
        #expect(!busy)
        let isOutdated = state.endFetch(first, nil, at: .zero)
        #expect(isOutdated)
        let second = state.beginFetch()
        let isOutdatedAgain = state.endFetch(second, nil, at: .zero)
        #expect(!isOutdatedAgain)
    }

    @Test(arguments: [nil, Duration.seconds(1)]) func aLaterFailureEndsNoLongerWait(retryAfter: Duration?) {
        var state = self.state("a")
        let busy = MobileTokenError(.serverError, "Busy", retryAfter: .seconds(60))
        _ = state.endFetch(state.beginFetch(), busy, at: .zero)
        let later = MobileTokenError(.noConnection, "Away", retryAfter: retryAfter)
        _ = state.endFetch(state.beginFetch(), later, at: .seconds(10))
        #expect(state.isAskedToWait(at: .seconds(59)))
        #expect(!state.isAskedToWait(at: .seconds(60)))
    }

    /// Whatever comes in whatever order: what was decided, and not offered by a later fetch, is not on the list.
    @Test func noOrderOfEventsBringsADecidedOperationBack() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var state = self.state("a", "b")
            var fetch: Int?
            var (isClaiming, isDeciding, isDecided, isFetchNewer) = (false, false, false, false)
            for _ in 0..<12 {
                switch Int.random(in: 0..<6, using: &generator) {
                case 0:
                    fetch = state.beginFetch()
                    isFetchNewer = isDecided
                case 1 where fetch != nil:
                    // A server that is slow to notice lists the operation for as long as the fetch may be too old for it.
                    let list: [UserOperation] = isFetchNewer ? [.sample("b")] : [.sample("b"), .sample("a")]
                    _ = state.apply(list, by: fetch.take() ?? 0, at: self.now)
                case 2 where !isClaiming && !isDecided:
                    state.claimBegan("a")
                    isClaiming = true
                case 3 where isClaiming:
                    _ = state.applyClaim(.sample("a"))
                    isClaiming = false
                case 4 where !isDeciding && !isDecided:
                    state.beginDecision("a")
                    isDeciding = true
                case 5 where isDeciding:
                    _ = state.applyDecision("a", .authorized, source: .authorization)
                    (isDeciding, isDecided) = (false, true)
                default: break
                }
                #expect(!isDecided || !state.operations.contains { $0.id == "a" })
            }
        }
    }
}
