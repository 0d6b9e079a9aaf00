import Synchronization

/// Counters, gauges and histograms, and the text that scrapers read.
///
/// The dimensions of a metric come from sets that are small. Should one not be, what comes after ``seriesLimit`` series is left
/// out and counted, so that memory is bounded.
final class MetricsRegistry: Sendable {
    static let seriesLimit = 500
    /// The upper bounds of histograms: seconds for what is timed, steps for what is counted.
    static let timeBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]
    static let stepBounds = [1.0, 2, 5, 10, 20]

    private let families = Mutex<[String: MetricFamily]>([:])
    private let droppedCount = Atomic(0)

    /// Counts one more.
    func count(_ label: String, _ dimensions: (String, String)..., by amount: Int = 1) {
        self.record(Double(amount), label, dimensions, .counter)
    }

    /// Takes in the time that something took.
    func time(_ label: String, _ duration: Duration, _ dimensions: (String, String)...) {
        self.record(duration / .seconds(1), label, dimensions, .histogram(Self.timeBounds))
    }

    /// Takes in one of many values.
    func record(_ label: String, _ value: Double) { self.record(value, label, [], .histogram(Self.stepBounds)) }

    /// Sets a gauge.
    func set(_ label: String, _ value: Double, _ dimensions: (String, String)...) {
        self.record(value, label, dimensions, .gauge)
    }

    func record(_ value: Double, _ label: String, _ dimensions: [(String, String)], _ kind: MetricFamily.Kind) {
        let labels = MetricFamily.labels(dimensions)
        let isTaken = self.families.withLock { families in
            families[label, default: MetricFamily(kind)].record(value, labels, limit: Self.seriesLimit)
        }
        if !isTaken { self.droppedCount.add(1, ordering: .relaxed) }
    }

    /// Forgets the series of a gauge, before it is set anew for those that there still are.
    func clear(_ label: String) { self.families.withLock { _ = $0.removeValue(forKey: label) } }

    /// Sets a gauge of one series, or removes it when there is no value.
    func replace(_ label: String, with value: Double?) {
        if let value { self.set(label, value) } else { self.clear(label) }
    }

    /// Returns all metrics in the text format of Prometheus, version 0.0.4.
    func text() -> String {
        self.set("approval_daemon_series_dropped", Double(self.droppedCount.load(ordering: .relaxed)))
        let families = self.families.withLock { $0 }
        return families.sorted { $0.key < $1.key }.map { $0.value.text(of: $0.key) }.joined()
    }
}

/// All series of one metric.
struct MetricFamily: Sendable {
    enum Kind: Sendable {
        case counter, gauge
        case histogram([Double])
    }

    private struct Series {
        var value = 0.0
        var count = 0
        var buckets: [Int] = []
    }

    private let kind: Kind
    private var series: [String: Series] = [:]

    init(_ kind: Kind) { self.kind = kind }

    /// Takes in a value: adds it, sets it, or sorts it into its bucket.
    ///
    /// - Returns: `false` when there is no room for another series.
    mutating func record(_ value: Double, _ labels: String, limit: Int) -> Bool {
        guard self.series[labels] != nil || self.series.count < limit else { return false }
        var series = self.series[labels] ?? Series()
        switch self.kind {
        case .counter: series.value += value
        case .gauge: series.value = value
        case .histogram(let bounds):
            if series.buckets.isEmpty { series.buckets = Array(repeating: 0, count: bounds.count) }
            for (index, bound) in bounds.enumerated() where value <= bound { series.buckets[index] += 1 }
            series.value += value
            series.count += 1
        }
        self.series[labels] = series
        return true
    }

    /// `path="/a",outcome="failed"`, escaped.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { name, value in
            let escaped = value.unicodeScalars.map { scalar in
                switch scalar {
                case "\\": #"\\"#
                case "\"": #"\""#
                case "\n": #"\n"#
                default: String(scalar)
                }
            }
            return "\(name)=\"\(escaped.joined())\""
        }.joined(separator: ",")
    }

    func text(of name: String) -> String {
        var lines = ["# TYPE \(name) \(self.typeName)"]
        if let help = MetricCatalog.help[name] { lines.insert("# HELP \(name) \(help)", at: 0) }
        for (labels, series) in self.series.sorted(by: { $0.key < $1.key }) {
            guard case .histogram(let bounds) = self.kind else {
                lines.append("\(name)\(Self.braced(labels)) \(series.value)")
                continue
            }
            for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], series.buckets + [series.count]) {
                lines.append("\(name)_bucket\(Self.braced(labels, "le=\"\(bound)\"")) \(count)")
            }
            lines.append("\(name)_sum\(Self.braced(labels)) \(series.value)")
            lines.append("\(name)_count\(Self.braced(labels)) \(series.count)")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private var typeName: String {
        switch self.kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    private static func braced(_ labels: String...) -> String {
        let labels = labels.filter { !$0.isEmpty }.joined(separator: ",")
        return labels.isEmpty ? "" : "{\(labels)}"
    }
}

/// The meaning of each metric. The README has the same table, and a test compares them.
enum MetricCatalog {
    static let help = [
        "mobile_token_requests_total": "Requests to the bank, by path and outcome.",
        "mobile_token_request_duration_seconds": "The time that requests to the bank took, by path.",
        "mobile_token_requests_retried_total": "Requests repeated with what was missing put right, by reason.",
        "mobile_token_signatures_total": "Signatures made, by factors.",
        "mobile_token_counter_distance":
            "The distance by which a signature's counter was ahead of the bank's; 1 when all is well.",
        "mobile_token_decisions_total": "Decisions that ended, by verdict and result.",
        "mobile_token_receipts_total": "Receipts, by kind; outcomeNotWritten needs a person.",
        "mobile_token_poll_lag_seconds": "The delay of polls behind their plan.",
        "mobile_token_operations_listed_total": "Operations that appeared.",
        "mobile_token_activations_opened": "Activations opened, or found not to open.",
        "mobile_token_activations_assigned": "Activations that this process polls.",
        "mobile_token_agent_events_total": "The agent's events, by kind.",
        "mobile_token_operations_left_total": "Operations left to people, by reason.",
        "approval_daemon_activations": "Activations, by phase.",
        "approval_daemon_stopped_activations": "Activations that nothing is decided with, by reason.",
        "approval_daemon_healthy": "1 when /health says 200.",
        "approval_daemon_ready": "1 when /ready says 200.",
        "approval_daemon_oldest_poll_seconds": "Age of the oldest successful poll of an active activation.",
        "approval_daemon_decisions_in_flight": "Decisions under way.",
        "approval_daemon_operations_unreadable": "Listed operations that cannot be read, so that nobody decides them.",
        "approval_daemon_decisions_unknown": "Decisions of which nobody can find out what became.",
        "approval_daemon_clock_skew_seconds": "By how much the local clock differs from the bank's.",
        "approval_daemon_receipt_exports_total": "Exports of receipts, by outcome.",
        "approval_daemon_receipts_unexported": "Receipts that were written since the last export.",
        "approval_daemon_receipts_exported_timestamp_seconds": "Unix time of the last export of receipts.",
        "approval_daemon_receipts_bytes": "Room that the store takes, most of it receipts.",
        "approval_daemon_limit_used": "The fullest window of a limit, in approvals or in its currency.",
        "approval_daemon_limit_allowed": "The room of the limit's windows.",
        "approval_daemon_log_lines_dropped": "Log lines dropped because their reader was too slow.",
        "approval_daemon_series_dropped": "Values left out because a metric had too many series.",
    ]
}
