import MobileToken
import Synchronization

/// The latest report, which the status server answers from. It is written every second; when it is not, that is the answer.
final class StatusBoard: Sendable {
    private static let staleAge = Duration.seconds(15)
    /// For how long no activations may mean that none were found yet.
    private static let youth = Duration.seconds(10)

    private struct State {
        var health: ApprovalAgent.Health?
        var time: Duration
        var isShuttingDown = false
    }

    private let metrics: MetricsRegistry
    private let writer: LogWriter
    private let maximumPollAge: Duration
    private let now: @Sendable () -> Duration
    private let start: Duration
    private let state: Mutex<State>

    /// - Parameter now: The time since some fixed moment.
    init(
        metrics: MetricsRegistry,
        writer: LogWriter,
        maximumPollAge: Duration,
        now: @escaping @Sendable () -> Duration
    ) {
        self.metrics = metrics
        self.writer = writer
        self.maximumPollAge = maximumPollAge
        self.now = now
        self.start = now()
        self.state = Mutex(State(time: self.start))
    }

    func update(_ health: ApprovalAgent.Health) {
        let now = self.now()
        self.state.withLock { state in
            state.health = health
            state.time = now
        }
    }

    func beginShutdown() { self.state.withLock { $0.isShuttingDown = true } }

    var report: HealthReport {
        let (state, now) = (self.state.withLock { $0 }, self.now())
        let report = HealthReport(
            state.health,
            maximumPollAge: self.maximumPollAge,
            isYoung: now - self.start < Self.youth,
            isShuttingDown: state.isShuttingDown
        )
        // A daemon that shuts down in order does not report any more.
        return now - state.time > Self.staleAge && !state.isShuttingDown ? report.stale : report
    }

    /// Answers what may be asked.
    func respond(to path: String) -> StatusServer.Response? {
        switch path {
        case "/health":
            let report = self.report
            return .init(status: report.isHealthy ? 200 : 503, contentType: "application/json", body: report.json)
        case "/ready":
            let report = self.report
            return .init(status: report.isReady ? 200 : 503, contentType: "application/json", body: report.json)
        case "/metrics":
            self.report.measure(in: self.metrics)
            self.metrics.set("approval_daemon_log_lines_dropped", Double(self.writer.droppedCount))
            let contentType = "text/plain; version=0.0.4; charset=utf-8"
            return .init(status: 200, contentType: contentType, body: Array(self.metrics.text().utf8))
        default: return nil
        }
    }
}
