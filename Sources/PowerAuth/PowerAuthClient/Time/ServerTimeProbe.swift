package import Foundation

/// Measures the server's time by a response that contains it, such as the operation list. Create it just before the request. Call
/// ``recordResponse()`` as soon as the response arrives, because reading it takes time.
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

    package mutating func recordResponse() { self.received = self.clocks.reading }

    package func record(_ stated: Date?) {
        guard let stated, let received else { return }
        self.report(stated, self.sent, received)
    }
}
