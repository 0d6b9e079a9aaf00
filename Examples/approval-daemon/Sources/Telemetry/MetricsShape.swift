/// The members of swift-metrics' `MetricsFactory` that ``Telemetry`` needs, as they are written there.
///
/// ```swift
/// extension Counter: CounterShape {}
/// extension Timer: TimerShape {}
/// extension Recorder: RecorderShape {}
///
/// struct SystemMetrics: MetricsShape {
///     func makeCounter(label: String, dimensions: [(String, String)]) -> Counter {
///         Counter(label: label, dimensions: dimensions)
///     }
///     …
/// }
/// ```
public protocol MetricsShape: Sendable {
    /// A count that only grows.
    associatedtype Counter: CounterShape
    /// A measure of durations.
    associatedtype Timer: TimerShape
    /// A measure of sizes: a gauge shows the last value, others the distribution of all values.
    associatedtype Recorder: RecorderShape

    /// Returns the counter of a name and of dimensions, which is the same one each time.
    func makeCounter(label: String, dimensions: [(String, String)]) -> Counter
    /// Returns the timer of a name and of dimensions, which is the same one each time.
    func makeTimer(label: String, dimensions: [(String, String)]) -> Timer
    /// Returns the recorder of a name and of dimensions, which is the same one each time: a gauge unless it aggregates.
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> Recorder
}

/// The member of swift-metrics' `Counter` and `CounterHandler` that is used.
public protocol CounterShape {
    /// Adds to the counter.
    func increment(by amount: Int64)
}

/// The member of swift-metrics' `Timer` and `TimerHandler` that is used.
public protocol TimerShape {
    /// Takes in how long something took.
    func recordNanoseconds(_ duration: Int64)
}

/// The members of swift-metrics' `Recorder`, `Gauge` and `RecorderHandler` that are used.
public protocol RecorderShape {
    /// Takes in a value.
    func record(_ value: Int64)
    /// Takes in a value.
    func record(_ value: Double)
}

extension MetricsShape {
    /// Counts one more.
    public func count(_ label: String, _ dimensions: (String, String)..., by amount: Int = 1) {
        self.makeCounter(label: label, dimensions: dimensions).increment(by: Int64(amount))
    }

    /// Takes in how long something took.
    public func time(_ label: String, _ duration: Duration, _ dimensions: (String, String)...) {
        self.makeTimer(label: label, dimensions: dimensions).recordNanoseconds(duration.nanoseconds)
    }

    /// Takes in one of many values.
    public func record(_ label: String, _ value: Double) {
        self.makeRecorder(label: label, dimensions: [], aggregate: true).record(value)
    }

    /// Sets a gauge.
    public func set(_ label: String, _ value: Double, _ dimensions: (String, String)...) {
        self.makeRecorder(label: label, dimensions: dimensions, aggregate: false).record(value)
    }
}

extension Duration {
    /// Whole nanoseconds; three centuries stand for what is longer.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
