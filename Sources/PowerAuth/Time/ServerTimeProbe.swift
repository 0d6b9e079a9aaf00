package import Foundation

/// Learns the server's time from a response that states it in passing, such as the list of operations.
///
/// Made just before the request; ``recordResponse()`` as soon as the response is there, since reading it takes time.
package struct ServerTimeProbe: Sendable {
    private let clocks: LocalClocks
    private let sent: TimeSynchronization.Reading
    private var received: TimeSynchronization.Reading?
    private let report: @Sendable (Date, TimeSynchronization.Reading, TimeSynchronization.Reading) -> Void

    init(
        clocks: LocalClocks,
        report: @escaping @Sendable (Date, TimeSynchronization.Reading, TimeSynchronization.Reading) -> Void
    ) {
        self.clocks = clocks
        self.sent = clocks.reading
        self.report = report
    }

    /// Notes that the response has arrived.
    package mutating func recordResponse() { self.received = self.clocks.reading }

    /// Takes in the date that the response stated, if it did.
    package func record(_ stated: Date?) {
        guard let stated, let received else { return }
        self.report(stated, self.sent, received)
    }
}
