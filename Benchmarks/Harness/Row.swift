/// The unit of a result.
enum Unit: String, Sendable, Codable {
    case nanoseconds = "ns"
    case microseconds = "µs"
    case milliseconds = "ms"
    case perSecond = "/s"
    case bytes = "B"
    case count = ""

    /// The time of one operation in this unit.
    func value(nanoseconds: Double) -> Double {
        switch self {
        case .microseconds: nanoseconds / 1e3
        case .milliseconds: nanoseconds / 1e6
        case .perSecond: 1e9 / nanoseconds
        case .nanoseconds, .bytes, .count: nanoseconds
        }
    }

    /// The time of one operation, of a value in this unit; `nil` when it measures something else.
    func nanoseconds(_ value: Double) -> Double? {
        switch self {
        case .nanoseconds: value
        case .microseconds: value * 1e3
        case .milliseconds: value * 1e6
        case .perSecond: 1e9 / value
        case .bytes, .count: nil
        }
    }

    /// Operations in a second, of a value in this unit; `nil` when it measures something else.
    func rate(_ value: Double) -> Double? { self.nanoseconds(value).map { 1e9 / $0 } }
}

/// The median of some samples, and how far they lie apart.
struct Figure: Sendable, Codable {
    let samples: [Double]

    init(samples: [Double]) { self.samples = samples.sorted() }

    /// A figure that was measured once.
    init(_ value: Double) { self.samples = [value] }

    var median: Double { self.percentile(50) }

    /// Half the distance between the extremes, as a part of the median.
    var spread: Double { self.median == 0 ? 0 : self.halfRange / self.median }

    /// Half the distance between the extremes.
    var halfRange: Double {
        guard let first = self.samples.first, let last = self.samples.last else { return 0 }
        return (last - first) / 2
    }

    /// The sample below which `percent` of them lie, interpolated.
    func percentile(_ percent: Double) -> Double {
        guard let last = self.samples.last else { return .nan }
        let position = percent / 100 * Double(self.samples.count - 1)
        let index = Int(position)
        guard index + 1 < self.samples.count else { return last }
        return self.samples[index] + (position - Double(index)) * (self.samples[index + 1] - self.samples[index])
    }
}

/// The figure that a case should reach.
enum Goal: Sendable {
    /// The median is no more than this, in the unit of the row.
    case atMost(Double)
    /// The median is no less than this, in the unit of the row.
    case noLess(than: Double)
    /// The median is no less than this many times a baseline's.
    case atLeast(Double, timesBaseline: String)

    func isMet(by row: Row) -> Bool? {
        switch self {
        case .atMost(let limit):
            row.figure.median <= limit
        case .noLess(let limit):
            row.figure.median >= limit
        case .atLeast(let factor, let name):
            row.baselines.first { $0.name == name }.map { row.figure.median >= factor * $0.figure.median }
        }
    }

    func text(in unit: Unit) -> String {
        switch self {
        case .atMost(let limit): "≤ \(limit.grouped) \(unit.rawValue)"
        case .noLess(let limit): "≥ \(limit.grouped) \(unit.rawValue)"
        case .atLeast(let factor, let name): "≥ \(factor.formatted(decimals: 2)) × \(name)"
        }
    }
}

/// One line of the report.
struct Row: Sendable {
    struct Baseline: Sendable {
        let name: String
        let figure: Figure
        /// Of this process, per operation, in nanoseconds: on a busy machine it says more than the time that passes.
        var processorTime: Double?
        /// Per operation.
        var allocations: Double?
    }

    let name: String
    /// The thing measured, in a case that measures several.
    var detail: String?
    let unit: Unit
    let figure: Figure
    /// As for baselines.
    var processorTime: Double?
    var baselines: [Baseline] = []
    /// Per operation, where they can be counted.
    var allocations: Double?
    /// As ``allocations``.
    var allocatedBytes: Double?
    var goals: [Goal] = []
    /// The number of things in the case, for cases that are measured at several sizes.
    var size: Int?

    var title: String { Self.title(self.name, self.detail) }

    static func title(_ name: String, _ detail: String?) -> String { detail.map { "\(name): \($0)" } ?? name }

    func ratio(to baseline: Baseline) -> Double { self.figure.median / baseline.figure.median }
}
