import Testing

@testable import MobileTokenPostgres

/// The buckets of a node, and the moments at which it has them no more.
struct NodeStateTests {
    private var node = NodeState()
    private let lifetime = Duration.seconds(6)

    private static func lease(_ number: Int64, for duration: Duration = .seconds(6)) -> NodeLease {
        NodeLease(number: number, reliableUntil: .now + duration)
    }

    // MARK: Use

    @Test mutating func theFirstUseStartsTheKeeper() {
        #expect(self.node.beginUse() == .startKeeper)
        #expect(self.node.beginUse() == .goOn)
    }

    @Test mutating func theKeeperEndsALifetimeAfterTheLastUse() {
        _ = self.node.beginUse()
        _ = self.node.begin(Self.lease(1))
        #expect(self.node.endIfIdle(at: .seconds(100), after: self.lifetime) == nil)
        self.node.endUse(at: .seconds(100))
        #expect(self.node.endIfIdle(at: .seconds(106), after: self.lifetime) == nil)
        let idle = self.node.endIfIdle(at: .seconds(107), after: self.lifetime)
        #expect(idle?.lease?.number == 1)
        #expect(self.node.lease == nil)
        #expect(self.node.beginUse() == .startKeeper)
    }

    @Test mutating func aClosedNodeRefusesAndTakesNoLease() {
        _ = self.node.begin(Self.lease(1))
        let lease = self.node.close()
        #expect(lease?.number == 1)
        #expect(self.node.beginUse() == .refuse)
        #expect(self.node.begin(Self.lease(2)) == false)
        #expect(self.node.lease == nil)
    }

    // MARK: The lease

    @Test mutating func anotherSeatHoldsNothingYet() {
        _ = self.node.begin(Self.lease(1))
        #expect(self.node.recordRight(of: "a", under: Self.lease(1)) == true)
        _ = self.node.begin(Self.lease(2))
        #expect(self.node.holdsRight(of: "a", under: Self.lease(2)) == false)
        #expect(self.node.holdsRight(of: "a", under: Self.lease(1)) == false)
    }

    @Test mutating func aQuarantineIsWaitedForOnce() {
        func quarantine(_ number: Int64, begun: Int64 = 1, rest: Duration) -> DatabaseEpoch.Quarantine {
            DatabaseEpoch.Quarantine(epoch: .init(number: number, begun: begun), rest: rest)
        }
        let first = quarantine(2, rest: .seconds(6))
        #expect(self.node.rest(of: first, at: .seconds(100)) == .seconds(6))
        #expect(self.node.rest(of: first, at: .seconds(104)) == .seconds(2))
        #expect(self.node.rest(of: quarantine(2, rest: .seconds(1)), at: .seconds(104)) == .seconds(1))
        #expect(self.node.rest(of: first, at: .seconds(106)) == nil)
        #expect(self.node.rest(of: quarantine(3, rest: .seconds(6)), at: .seconds(106)) == .seconds(6))
    }

    /// A failover that loses an epoch lets its number be given again.
    @Test mutating func anotherEpochOfTheSameNumberHasAQuarantineOfItsOwn() {
        let lost = DatabaseEpoch.Quarantine(epoch: .init(number: 2, begun: 1_000), rest: .seconds(6))
        let again = DatabaseEpoch.Quarantine(epoch: .init(number: 2, begun: 9_000), rest: .seconds(6))
        #expect(self.node.rest(of: lost, at: .seconds(100)) == .seconds(6))
        #expect(self.node.rest(of: lost, at: .seconds(106)) == nil)
        #expect(self.node.rest(of: again, at: .seconds(106)) == .seconds(6))
    }

    @Test mutating func aHeartbeatCountsForTheSeatThatSentIt() {
        _ = self.node.begin(Self.lease(2, for: .zero))
        let late = Self.lease(1, for: .seconds(60))
        self.node.recordRenewal(late)
        #expect(self.node.lease?.isReliable == false)
        self.node.recordLoss(of: late)
        #expect(self.node.lease?.number == 2)
        self.node.recordRenewal(Self.lease(2, for: .seconds(60)))
        #expect(self.node.lease?.isReliable == true)
    }

    @Test mutating func aLostSeatTakesItsRightsWithIt() {
        _ = self.node.begin(Self.lease(1))
        _ = self.node.recordRight(of: "a", under: Self.lease(1))
        self.node.recordLoss(of: Self.lease(1))
        #expect(self.node.holdsRight(of: "a", under: Self.lease(1)) == false)
        #expect(self.node.recordRight(of: "a", under: Self.lease(1)) == false)
    }

    @Test mutating func aLateHeartbeatRevivesNoLeaseThatIsOver() {
        let late = Self.lease(1, for: .seconds(60))
        _ = self.node.begin(Self.lease(1))
        self.node.recordLoss(of: Self.lease(1))
        self.node.recordRenewal(late)
        #expect(self.node.lease == nil)
        _ = self.node.begin(Self.lease(1))
        _ = self.node.close()
        self.node.recordRenewal(late)
        #expect(self.node.lease == nil)
    }

    // MARK: Rights

    @Test mutating func identifiersThatLookAlikeAreTwo() {
        let lease = Self.lease(1)
        _ = self.node.begin(lease)
        _ = self.node.recordRight(of: "\u{E9}", under: lease)
        #expect(self.node.holdsRight(of: "e\u{301}", under: lease) == false)
        self.node.forget("e\u{301}")
        #expect(self.node.holdsRight(of: "\u{E9}", under: lease) == true)
    }

    @Test mutating func aRightIsHandedOverOnceAtATime() {
        #expect(self.node.beginHandingOver("a") == true)
        #expect(self.node.beginHandingOver("a") == false)
        #expect(self.node.beginHandingOver("b") == true)
        self.node.endHandingOver("a")
        #expect(self.node.beginHandingOver("a") == true)
    }
}
