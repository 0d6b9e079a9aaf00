import Testing

@testable import MobileTokenPostgres

/// What a node has, and when it has it no more.
struct NodeHoldingsTests {
    private var holdings = NodeHoldings()
    private let lifetime = Duration.seconds(6)

    private static func seat(_ number: Int64, for duration: Duration = .seconds(6)) -> Seat {
        Seat(number: number, reliableUntil: .now + duration)
    }

    // MARK: Use

    @Test mutating func theFirstUseStartsTheKeeper() {
        #expect(self.holdings.beginUse() == .startKeeper)
        #expect(self.holdings.beginUse() == .goOn)
    }

    @Test mutating func theKeeperEndsALifetimeAfterTheLastUse() {
        _ = self.holdings.beginUse()
        _ = self.holdings.took(Self.seat(1))
        #expect(self.holdings.endIfIdle(at: .seconds(100), after: self.lifetime) == nil)
        self.holdings.endUse(at: .seconds(100))
        #expect(self.holdings.endIfIdle(at: .seconds(106), after: self.lifetime) == nil)
        let idle = self.holdings.endIfIdle(at: .seconds(107), after: self.lifetime)
        #expect(idle?.seat?.number == 1)
        #expect(self.holdings.seat == nil)
        #expect(self.holdings.beginUse() == .startKeeper)
    }

    @Test mutating func aClosedNodeRefusesAndTakesNoSeat() {
        _ = self.holdings.took(Self.seat(1))
        let seat = self.holdings.close()
        #expect(seat?.number == 1)
        #expect(self.holdings.beginUse() == .refuse)
        #expect(self.holdings.took(Self.seat(2)) == false)
        #expect(self.holdings.seat == nil)
    }

    // MARK: The seat

    @Test mutating func anotherSeatHoldsNothingYet() {
        _ = self.holdings.took(Self.seat(1))
        #expect(self.holdings.tookRight(to: "a", as: Self.seat(1)) == true)
        _ = self.holdings.took(Self.seat(2))
        #expect(self.holdings.holdsRight(to: "a", as: Self.seat(2)) == false)
        #expect(self.holdings.holdsRight(to: "a", as: Self.seat(1)) == false)
    }

    @Test mutating func aQuarantineIsWaitedForOnce() {
        let quarantine = Incarnation.Quarantine(life: 2, rest: .seconds(6))
        #expect(self.holdings.rest(of: quarantine, at: .seconds(100)) == .seconds(6))
        #expect(self.holdings.rest(of: quarantine, at: .seconds(104)) == .seconds(2))
        let late = Incarnation.Quarantine(life: 2, rest: .seconds(1))
        #expect(self.holdings.rest(of: late, at: .seconds(104)) == .seconds(1))
        #expect(self.holdings.rest(of: quarantine, at: .seconds(106)) == nil)
        let next = Incarnation.Quarantine(life: 3, rest: .seconds(6))
        #expect(self.holdings.rest(of: next, at: .seconds(106)) == .seconds(6))
    }

    @Test mutating func aHeartbeatCountsForTheSeatThatSentIt() {
        _ = self.holdings.took(Self.seat(2, for: .zero))
        let late = Self.seat(1, for: .seconds(60))
        self.holdings.renewed(late)
        #expect(self.holdings.seat?.isReliable == false)
        self.holdings.lost(late)
        #expect(self.holdings.seat?.number == 2)
        self.holdings.renewed(Self.seat(2, for: .seconds(60)))
        #expect(self.holdings.seat?.isReliable == true)
    }

    @Test mutating func aLostSeatTakesItsRightsWithIt() {
        _ = self.holdings.took(Self.seat(1))
        _ = self.holdings.tookRight(to: "a", as: Self.seat(1))
        self.holdings.lost(Self.seat(1))
        #expect(self.holdings.holdsRight(to: "a", as: Self.seat(1)) == false)
        #expect(self.holdings.tookRight(to: "a", as: Self.seat(1)) == false)
    }

    // MARK: Rights

    @Test mutating func identifiersThatLookAlikeAreTwo() {
        let seat = Self.seat(1)
        _ = self.holdings.took(seat)
        _ = self.holdings.tookRight(to: "\u{E9}", as: seat)
        #expect(self.holdings.holdsRight(to: "e\u{301}", as: seat) == false)
        self.holdings.forget("e\u{301}")
        #expect(self.holdings.holdsRight(to: "\u{E9}", as: seat) == true)
    }

    @Test mutating func aRightIsHandedOverOnceAtATime() {
        #expect(self.holdings.beginHandingOver("a") == true)
        #expect(self.holdings.beginHandingOver("a") == false)
        #expect(self.holdings.beginHandingOver("b") == true)
        self.holdings.endHandingOver("a")
        #expect(self.holdings.beginHandingOver("a") == true)
    }
}
