import Basics
import Coordination
import Foundation
import MobileTokenTesting
import Testing

@testable import PowerAuthClient

@Suite struct TimeSynchronizationTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    /// A reading `seconds` after the start, with a wall clock that was set by `shift`.
    private func reading(_ seconds: Double, wallShift shift: Double = 0) -> TimeSynchronization.Reading {
        .init(monotonic: .seconds(seconds), wall: self.start + seconds + shift)
    }

    @Test func beforeTheFirstMeasurementTheWallClockCounts() {
        let time = TimeSynchronization()
        #expect(time.serverDate(at: self.reading(5)) == self.start + 5)
        #expect(time.needsMeasurement(at: self.reading(5)))
    }

    @Test func theServersTimeIsTakenToBeOfTheMiddleOfTheRoundTrip() {
        var time = TimeSynchronization()
        let outcome = time.measure(serverDate: self.start + 101, sent: self.reading(0), received: self.reading(2))
        #expect(outcome == .adopted)
        #expect(time.serverDate(at: self.reading(2)) == self.start + 102)
        #expect(time.serverDate(at: self.reading(12)) == self.start + 112)
        #expect(!time.needsMeasurement(at: self.reading(12)))
    }

    @Test(arguments: [-3_600, -2, -1.9, -0.5, 0, 1.9, 2, 3_600])
    func fromTwoSecondsOnTheOffsetIsAdopted(offset: Double) {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + offset, sent: self.reading(0), received: self.reading(0))
        #expect(time.serverDate(at: self.reading(7)) == self.start + 7 + (abs(offset) < 2 ? 0 : offset))
        #expect(!time.needsMeasurement(at: self.reading(7)))
    }

    @Test func aRoundTripOfMoreThanSixteenSecondsSaysNothing() {
        var time = TimeSynchronization()
        #expect(
            time.measure(serverDate: self.start, sent: self.reading(0), received: self.reading(16.001)) == .discarded
        )
        #expect(time.needsMeasurement(at: self.reading(20)))
        #expect(
            time.measure(serverDate: self.start + 50, sent: self.reading(0), received: self.reading(16)) == .adopted
        )
    }

    @Test func theEstimateWithTheShortestRoundTripIsKept() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(0), received: self.reading(0.5))
        let worse = time.measure(serverDate: self.start + 103, sent: self.reading(1), received: self.reading(5))
        #expect(worse == .kept)
        let better = time.measure(serverDate: self.start + 110.05, sent: self.reading(10), received: self.reading(10.1))
        #expect(better == .adopted)
        #expect(abs(time.serverDate(at: self.reading(10.1)).timeIntervalSince(self.start + 110.1)) < 0.001)
    }

    @Test func aMeasurementThatBothCannotBeRightAboutReplacesTheEstimate() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(0), received: self.reading(0.1))
        let outcome = time.measure(serverDate: self.start + 500, sent: self.reading(1), received: self.reading(2))
        #expect(outcome == .adopted)
        #expect(time.serverDate(at: self.reading(2)) == self.start + 500.5)
    }

    @Test func aWallClockThatIsSetChangesNothingButAsksForAnotherMeasurement() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(0), received: self.reading(0))
        let after = self.reading(10, wallShift: -7200)
        #expect(time.serverDate(at: after) == self.start + 110)
        #expect(time.needsMeasurement(at: after))
        #expect(!time.needsMeasurement(at: self.reading(10, wallShift: 1.9)))
    }

    @Test func afterAJumpAnyMeasurementBeatsTheOldOne() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start, sent: self.reading(0), received: self.reading(0))
        // The machine stood still for an hour that the monotonic clock did not see.
        let sent = self.reading(10, wallShift: 3600)
        let received = self.reading(13, wallShift: 3600)
        #expect(time.measure(serverDate: self.start + 3611.5, sent: sent, received: received) == .adopted)
        #expect(time.serverDate(at: received) == self.start + 3613)
        #expect(!time.needsMeasurement(at: received))
    }

    @Test func onlyTheServersWordCountsAsMeasured() {
        var time = TimeSynchronization()
        #expect(!time.isMeasured(at: self.reading(0)))
        time.assume(at: self.reading(0))
        #expect(!time.needsMeasurement(at: self.reading(1)))
        #expect(!time.isMeasured(at: self.reading(1)))
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(1), received: self.reading(2))
        #expect(time.isMeasured(at: self.reading(3)))
        #expect(!time.isMeasured(at: self.reading(3, wallShift: 60)))
        time.distrust()
        #expect(!time.isMeasured(at: self.reading(3)))
    }

    @Test func aCoarseStatementDoesNotReplaceAFineOne() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(0), received: self.reading(0.5))
        let coarse = time.measure(
            serverDate: self.start + 109,
            sent: self.reading(10),
            received: self.reading(10.1),
            resolution: .seconds(1)
        )
        #expect(coarse == .kept)
        let first = TimeSynchronization.Outcome.adopted
        var other = TimeSynchronization()
        #expect(
            other.measure(
                serverDate: self.start + 100,
                sent: self.reading(0),
                received: self.reading(16),
                resolution: .seconds(1)
            ) == first
        )
    }

    @Test func aDistrustedEstimateServesUntilTheNextMeasurement() {
        var time = TimeSynchronization()
        _ = time.measure(serverDate: self.start + 100, sent: self.reading(0), received: self.reading(0))
        time.distrust()
        #expect(time.needsMeasurement(at: self.reading(1)))
        #expect(time.serverDate(at: self.reading(1)) == self.start + 101)
        #expect(time.measure(serverDate: self.start + 42, sent: self.reading(1), received: self.reading(9)) == .adopted)
        #expect(!time.needsMeasurement(at: self.reading(9)))
    }

    @Test(arguments: [Int64.min, -1, 0, 99_999_999, 1_000_000_000_000_000, Int64.max])
    func aTimestampThatIsNoneIsThrownAway(milliseconds: Int64) {
        var time = TimeSynchronization()
        let stated = Date(millisecondsSince1970: milliseconds)
        #expect(time.measure(serverDate: stated, sent: self.reading(0), received: self.reading(0)) == .discarded)
    }

    @Test func millisecondsOfAnyDateAreATimestamp() {
        #expect(Date(timeIntervalSince1970: -5).millisecondsSince1970 == 0)
        #expect(Date(timeIntervalSince1970: 1e300).millisecondsSince1970 == 999_999_999_999_000)
        #expect(Date(timeIntervalSince1970: 1.9999).millisecondsSince1970 == 1999)
    }

    @Test(
        arguments: [
            (.nan, 0), (.infinity, 999_999_999_999_000), (-.infinity, 0), (1e300, 999_999_999_999_000), (-1e300, 0),
        ] as [(Double, Int64)]
    )
    func aClockThatShowsNonsenseGivesTheNearestTimestamp(seconds: Double, milliseconds: Int64) {
        #expect(Date(timeIntervalSince1970: seconds).millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: [.nan, .infinity, -.infinity, 1e300] as [Double])
    func aWallClockThatShowsNonsenseGivesWayToTheServersTime(seconds: Double) {
        let broken = TimeSynchronization.Reading(monotonic: .zero, wall: Date(timeIntervalSince1970: seconds))
        var time = TimeSynchronization()
        #expect(time.measure(serverDate: self.start, sent: broken, received: broken) == .adopted)
        #expect(time.serverDate(at: broken) == self.start)
    }

    @Test(arguments: [.seconds(Int64.max), Duration(attoseconds: .max)])
    func aDeadlineInTheFarFutureIsSleptTo(deadline: Duration) async {
        let clock = ManualClock()
        let service = ServiceClock(clock)
        let sleeping = Task { try await service.sleep(until: deadline) }
        #expect(await clock.nextSleep() == .longest)
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
    }
}
