import Basics
import Foundation

/// The estimate of the server's time, and its quality. A value without a clock; ``ServerTime`` supplies the readings.
struct TimeSynchronization: Sendable {
    /// The readings of both local clocks at one moment.
    struct Reading: Sendable {
        /// The time since a fixed moment; never set back.
        var monotonic: Duration
        /// The system's date, which administrators and NTP may set.
        var wall: Date
    }

    enum Outcome: Equatable {
        /// The measurement replaced the estimate.
        case adopted
        /// The existing estimate is at least as good.
        case kept
        /// The round trip was too long.
        case discarded
    }

    /// The longest round trip of a usable measurement.
    static let longestRoundTrip: Duration = .seconds(16)
    /// Smaller differences are ignored: the local clock is as good as the measurement.
    static let smallestOffset: TimeInterval = 2
    /// The dates that a protocol timestamp can express.
    static let plausible = Date(millisecondsSince1970: 100_000_000)..<Date(millisecondsSince1970: 1_000_000_000_000_000)
    /// A larger drift between the local clocks means that one was set or stopped.
    static let largestDrift: TimeInterval = 2

    fileprivate struct Estimate {
        /// The local clocks when the response arrived.
        var reading: Reading
        /// The server's time at that moment.
        var serverDate: Date
        var roundTrip: Duration
        /// Indicates a date from the local clock, because the server's was unavailable.
        var isAssumed = false
        /// Indicates that the date goes back to one stated by the server.
        var isStated = true
    }

    private var estimate: Estimate?
    private var isDistrusted = false

    /// Returns the server's time at a reading: the wall clock's before a measurement. Afterwards it follows the monotonic clock,
    /// and changes of the wall clock have no effect.
    func serverDate(at reading: Reading) -> Date {
        guard let estimate = self.estimate else { return reading.wall }
        return estimate.serverDate + estimate.reading.elapsed(to: reading)
    }

    /// Returns whether a measurement is needed: there is none, or the local clocks have drifted apart. Then the wall clock was
    /// set or the monotonic clock stopped, and only the server can tell which.
    func needsMeasurement(at reading: Reading) -> Bool {
        guard let estimate = self.estimate, !self.isDistrusted else { return true }
        return estimate.reading.isInterrupted(until: reading)
    }

    /// Returns whether the date rests on the server's time and on local clocks that have agreed since.
    func isMeasured(at reading: Reading) -> Bool {
        !self.needsMeasurement(at: reading) && self.estimate?.isAssumed == false
    }

    /// Indicates whether the date goes back to one stated by the server, whatever the local clocks did since.
    var isStated: Bool { self.estimate?.isStated == true }

    /// Requests another measurement, which counts whatever its round trip.
    mutating func distrust() {
        self.isDistrusted = true
    }

    /// Treats the present estimate as the poorest measurement, if none is available.
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

    /// Measures by the time in a response, which is assumed to be from the middle of the round trip. The estimate with the
    /// shortest round trip is kept, unless the new one contradicts it.
    ///
    /// - Parameter resolution: The resolution of the stated time, such as a second; it counts as additional round trip time.
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
        // Written so that a nonsensical wall clock is considered wrong.
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
    fileprivate func elapsed(to later: Self) -> TimeInterval {
        (later.monotonic - self.monotonic).seconds
    }

    /// Returns the difference between the advances of wall clock and monotonic clock.
    fileprivate func drift(to later: Self) -> TimeInterval {
        abs(later.wall.timeIntervalSince(self.wall) - self.elapsed(to: later))
    }

    /// Returns whether one of the clocks was set or stopped since, so that the elapsed time is unknown.
    func isInterrupted(until later: Self) -> Bool { self.drift(to: later) >= TimeSynchronization.largestDrift }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = self.bounded.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
