import Coordination
import Foundation
import Synchronization

/// The server's time, shared by all activations of one client.
final class ServerTime: Sendable {
    private let clocks: LocalClocks
    private let synchronization = Mutex(TimeSynchronization())
    private let measurement = Coalescer<Void>()
    /// Until when the server is not asked again, after it could not be reached.
    private let postponedUntil = Mutex<Duration?>(nil)

    private static let postponement: Duration = .seconds(60)

    init(clocks: LocalClocks) {
        self.clocks = clocks
    }

    /// The server's date, as far as it is known.
    var date: Date {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.serverDate(at: reading) }
    }

    /// Returns the server's date at a moment that was read from the local wall clock, which may have been wrong then.
    func date(ofLocalDate date: Date) -> Date {
        let reading = self.clocks.reading
        let now = self.synchronization.withLock { $0.serverDate(at: reading) }
        return now + date.timeIntervalSince(reading.wall)
    }

    /// The server's date in milliseconds since 1970, as the protocol counts.
    var milliseconds: Int64 { self.date.millisecondsSince1970 }

    /// Indicates whether the date rests on a measurement that still holds.
    var isSynchronized: Bool {
        let reading = self.clocks.reading
        return !self.synchronization.withLock { $0.needsMeasurement(at: reading) }
    }

    /// The server's date, unless it is only the local clock's idea of it.
    var measuredDate: Date? {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.isMeasured(at: reading) ? $0.serverDate(at: reading) : nil }
    }

    /// The server's date as it last stated it, carried on by the monotonic clock; `nil` before it has stated any.
    var statedDate: Date? {
        let reading = self.clocks.reading
        return self.synchronization.withLock { $0.isStated ? $0.serverDate(at: reading) : nil }
    }

    /// Indicates whether asking for the time is of use now: it is not known, and was not asked for in vain just before.
    var mayBeAskedFor: Bool {
        guard !self.isSynchronized else { return false }
        let now = self.clocks.monotonic
        return self.postponedUntil.withLock { $0.map { $0 <= now } ?? true }
    }

    /// Notes that the server could not be asked.
    func postpone() {
        let now = self.clocks.monotonic
        self.postponedUntil.withLock { $0 = now + Self.postponement }
    }

    /// Begins to measure with a call that is made anyhow.
    func makeProbe() -> ServerTimeProbe {
        ServerTimeProbe(clocks: self.clocks) { [self] stated, sent, received in
            // Such dates are written in whole seconds by most servers.
            self.synchronization.withLock {
                _ = $0.measure(serverDate: stated, sent: sent, received: received, resolution: .seconds(1))
            }
        }
    }

    /// Makes the next ``synchronize(_:)`` measure again. Until then the date is computed as before.
    func distrust() {
        self.synchronization.withLock { $0.distrust() }
    }

    /// Goes on with the date as computed so far, as if it had been measured badly: any real measurement is better.
    func trustLocalClock() {
        let reading = self.clocks.reading
        self.synchronization.withLock { $0.assume(at: reading) }
    }

    /// Makes a call whose response states the server's time, and learns from it.
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

    /// Measures with `fetch` unless a measurement holds already. Concurrent callers share one.
    func synchronize(_ fetch: @escaping @Sendable () async throws -> Int64) async throws {
        guard !self.isSynchronized else { return }
        try await self.measurement.run {
            _ = try await self.measuring({ $0 }, fetch)
        }
    }
}
