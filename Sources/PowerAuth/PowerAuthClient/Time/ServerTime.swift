import Coordination
import Foundation
import Synchronization

/// The server's time, shared by all activations of one client.
final class ServerTime: Sendable {
    private let clocks: LocalClocks
    private let synchronization = Mutex(TimeSynchronization())
    private let measurement = Coalescer<Void>()
    /// The time until which the server is not asked again, after a failure.
    private let postponedUntil = Mutex<Duration?>(nil)

    private static let postponement: Duration = .seconds(60)

    init(clocks: LocalClocks) {
        self.clocks = clocks
    }

    var date: Date {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.serverDate(at: reading) }
    }

    /// Converts a wall clock time to the server's time, even if the wall clock was wrong.
    func date(ofLocalDate date: Date) -> Date {
        let reading = self.clocks.reading
        let now = self.synchronization.withLock { $0.serverDate(at: reading) }
        return now + date.timeIntervalSince(reading.wall)
    }

    /// The estimated server time as a protocol timestamp.
    var milliseconds: Int64 { self.date.millisecondsSince1970 }

    /// Indicates whether the estimate rests on a valid measurement.
    var isSynchronized: Bool {
        let reading = self.clocks.reading
        return !self.synchronization.withLock { $0.needsMeasurement(at: reading) }
    }

    /// The measured server time; `nil` if only the local clock is known.
    var measuredDate: Date? {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.isMeasured(at: reading) ? $0.serverDate(at: reading) : nil }
    }

    /// The last time stated by the server, continued by the monotonic clock; `nil` before.
    var statedDate: Date? {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.isStated ? $0.serverDate(at: reading) : nil }
    }

    /// Indicates whether a request for the time makes sense: it is unknown, and no recent attempt failed.
    var mayBeAskedFor: Bool {
        guard !self.isSynchronized else { return false }
        let now = self.clocks.monotonic
        return self.postponedUntil.withLock { $0.map { $0 <= now } ?? true }
    }

    /// Records that the server could not be reached.
    func postpone() {
        let now = self.clocks.monotonic
        self.postponedUntil.withLock { $0 = now + Self.postponement }
    }

    /// Begins a measurement with a call that is made anyway.
    func makeProbe() -> ServerTimeProbe {
        ServerTimeProbe(clocks: self.clocks) { [self] stated, sent, received in
            // Most servers write such dates in whole seconds.
            self.synchronization.withLock {
                _ = $0.measure(serverDate: stated, sent: sent, received: received, resolution: .seconds(1))
            }
        }
    }

    /// Makes the next ``synchronize(_:)`` measure again. The estimate stays until then.
    func distrust() {
        self.synchronization.withLock { $0.distrust() }
    }

    /// Continues with the present estimate as a poor measurement, which any real one replaces.
    func trustLocalClock() {
        let reading = self.clocks.reading
        self.synchronization.withLock { $0.assume(at: reading) }
    }

    /// Makes a call and measures the server's time by its response.
    func measuring<Answer>(
        _ serverMilliseconds: (Answer) -> Int64,
        _ call: () async throws -> Answer
    ) async throws -> Answer {
        let sent = self.clocks.reading
        let response = try await call()
        let received = self.clocks.reading
        let stated = Date(millisecondsSince1970: serverMilliseconds(response))
        self.synchronization.withLock { _ = $0.measure(serverDate: stated, sent: sent, received: received) }
        return response
    }

    /// Measures with `fetch` unless a measurement is valid. Concurrent callers share one.
    func synchronize(_ fetch: @escaping @Sendable () async throws -> Int64) async throws {
        guard !self.isSynchronized else { return }
        try await self.measurement.run {
            _ = try await self.measuring({ $0 }, fetch)
        }
    }
}
