import Telemetry

extension Logger: LoggerShape {}
extension Logger.Level: LogLevelShape {}
extension Counter: CounterShape {}
extension Timer: TimerShape {}
extension Recorder: RecorderShape {}

/// The metrics that the process was bootstrapped with.
struct SystemMetrics: MetricsShape {
    func makeCounter(label: String, dimensions: [(String, String)]) -> Counter {
        Counter(label: label, dimensions: dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> Timer {
        Timer(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> Recorder {
        Recorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }
}
