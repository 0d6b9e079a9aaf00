import Basics
import Foundation

/// The estimate of the server's time, with its quality, and with the trust that the local clock deserves.
///
/// A value with rules and no clock; ``ServerTime`` feeds it readings.
struct TimeSynchronization: Sendable {
    /// Both local clocks at one instant.
    struct Reading: Sendable {
        /// Time since some fixed moment; never set, never steps back.
        var monotonic: Duration
        /// The date as the system believes it, which administrators and NTP may set.
        var wall: Date
    }

    /// The outcome of a measurement.
    enum Outcome: Equatable {
        /// The server's date is now computed from this measurement.
        case adopted
        /// The estimate that there is already is as good or better.
        case kept
        /// The round trip took too long to say anything.
        case discarded
    }

    /// A measurement over a longer round trip is thrown away.
    static let longestRoundTrip: Duration = .seconds(16)
    /// Smaller differences are left alone: the local clock is as good as the measurement.
    static let smallestOffset: TimeInterval = 2
    /// The dates that a protocol timestamp can name; anything else is not a server's time.
    static let plausible = Date(millisecondsSince1970: 100_000_000)..<Date(millisecondsSince1970: 1_000_000_000_000_000)
    /// The two local clocks drifting apart by this much means that one of them was set or stood still.
    static let largestDrift: TimeInterval = 2

    fileprivate struct Estimate {
        /// The reading of both clocks when the response arrived.
        var reading: Reading
        /// The server's date at that instant.
        var serverDate: Date
        var roundTrip: Duration
        /// Indicates whether this is the local clock's word, because the server's was not to be had.
        var isAssumed = false
        /// Indicates whether the server has once stated the date that is carried on here.
        var isStated = true
    }

    private var estimate: Estimate?
    private var isDistrusted = false

    /// Returns the server's date at a reading: the wall clock's until a measurement says otherwise.
    ///
    /// Once measured it follows the monotonic clock, so a wall clock that is set afterwards changes nothing.
    func serverDate(at reading: Reading) -> Date {
        guard let estimate = self.estimate else { return reading.wall }
        return estimate.serverDate + estimate.reading.elapsed(to: reading)
    }

    /// Returns whether another measurement is needed: none was made, or the local clocks no longer agree with each
    /// other.
    ///
    /// When they disagree, either the wall clock was set or the machine stood still without the monotonic clock
    /// noticing; only the server can tell which.
    func needsMeasurement(at reading: Reading) -> Bool {
        guard let estimate = self.estimate, !self.isDistrusted else { return true }
        return estimate.reading.isInterrupted(until: reading)
    }

    /// Returns whether the date at a reading rests on the server's word, and on local clocks that agree with each other
    /// since.
    func isMeasured(at reading: Reading) -> Bool {
        !self.needsMeasurement(at: reading) && self.estimate?.isAssumed == false
    }

    /// Indicates whether the server has ever stated its time, on which the date rests, whatever the local clocks have done since.
    var isStated: Bool { self.estimate?.isStated == true }

    /// Asks for another measurement, which then counts whatever its round trip.
    mutating func distrust() {
        self.isDistrusted = true
    }

    /// Takes the present idea of the server's time for a measurement of the poorest kind, when none is to be had.
    mutating func assume(at reading: Reading) {
        self.estimate = Estimate(
            reading: reading,
            serverDate: self.serverDate(at: reading),
            roundTrip: Self.longestRoundTrip,
            isAssumed: true,
            isStated: self.isStated
        )
        self.isDistrusted = false
    }

    /// Takes in the time that the server stated in a response.
    ///
    /// It is assumed to be of the middle of the round trip. The estimate with the shortest round trip is kept, unless
    /// the new one shows that it is off by more than both can be wrong.
    ///
    /// - Parameter resolution: The step in which the time was stated, such as a second; it counts like a round trip
    ///   longer by as much.
    mutating func measure(
        serverDate stated: Date,
        sent: Reading,
        received: Reading,
        resolution: Duration = .zero
    ) -> Outcome {
        let elapsed = received.monotonic - sent.monotonic
        guard elapsed >= .zero, elapsed <= Self.longestRoundTrip, Self.plausible.contains(stated) else {
            return .discarded
        }

        let roundTrip = elapsed + resolution
        let measured = stated + elapsed.seconds / 2
        if let estimate = self.estimate, !self.needsMeasurement(at: received) {
            let difference = abs(measured.timeIntervalSince(self.serverDate(at: received)))
            let isBetter = roundTrip <= estimate.roundTrip
            let uncertainty = max(Self.smallestOffset, (roundTrip.seconds + estimate.roundTrip.seconds) / 2)
            guard isBetter || difference >= uncertainty else { return .kept }
        }
        // Asked this way, a wall clock that shows no date at all is off as well.
        let agrees = abs(measured.timeIntervalSince(received.wall)) < Self.smallestOffset
        self.isDistrusted = false
        self.estimate = Estimate(
            reading: received,
            serverDate: agrees ? received.wall : measured,
            roundTrip: roundTrip
        )
        return .adopted
    }
}

extension TimeSynchronization.Reading {
    /// Seconds on the monotonic clock.
    fileprivate func elapsed(to later: Self) -> TimeInterval {
        (later.monotonic - self.monotonic).seconds
    }

    /// Returns by how much the wall clock moved more, or less, than the monotonic one.
    fileprivate func drift(to later: Self) -> TimeInterval {
        abs(later.wall.timeIntervalSince(self.wall) - self.elapsed(to: later))
    }

    /// Returns whether one of the two clocks was set or stood still since, so that nobody here knows how long that was.
    func isInterrupted(until later: Self) -> Bool { self.drift(to: later) >= TimeSynchronization.largestDrift }
}

extension Duration {
    /// As a floating-point number of seconds.
    var seconds: Double {
        let (seconds, attoseconds) = self.bounded.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
