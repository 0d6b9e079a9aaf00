/// The results that got slower, or larger, since an earlier report, by more than its samples differ among themselves.
struct Comparison {
    /// A case that both reports have.
    private struct Change {
        let title: String
        /// The new figure divided by the earlier one.
        let factor: Double
        /// By how much samples of one report lie apart, at most.
        let spread: Double

        var isWorse: Bool { self.factor > 1 + self.spread }
    }

    private let changes: [Change]
    private let missing: [String]
    private let isOtherMachine: Bool

    init(_ new: JSONReport, since old: JSONReport) {
        let earlier = Dictionary(old.cases.map { ($0.title, $0) }, uniquingKeysWith: { first, _ in first })
        self.changes = new.cases.compactMap { entry in
            earlier[entry.title].flatMap { Self.factor(entry, since: $0) }.map {
                Change(title: entry.title, factor: $0.factor, spread: $0.spread)
            }
        }
        let compared = Set(self.changes.map(\.title))
        self.missing = new.cases.map(\.title).filter { !compared.contains($0) }
        self.isOtherMachine = old.machine != new.machine
    }

    /// Ratios to the same baseline where there is one: the machine may have been slower as a whole.
    private static func factor(
        _ new: JSONReport.Entry,
        since old: JSONReport.Entry
    ) -> (factor: Double, spread: Double)? {
        guard new.unit == old.unit else { return nil }
        let values: (old: Double, new: Double)
        if let baseline = new.baselines.first, let earlier = old.baselines.first(where: { $0.name == baseline.name }) {
            values = (earlier.ratio, baseline.ratio)
        } else {
            values = (old.median, new.median)
        }
        let factor = new.unit == Unit.perSecond.rawValue ? values.old / values.new : values.new / values.old
        return factor.isFinite ? (factor, max(old.spread, new.spread)) : nil
    }

    var hasWorse: Bool { self.changes.contains(where: \.isWorse) }

    var text: String {
        var lines = self.isOtherMachine ? ["The earlier report is of another machine, or another build."] : []
        lines += self.changes.filter(\.isWorse).sorted { $0.factor > $1.factor }.map {
            "worse: \($0.title), \($0.factor.formatted(decimals: 2)) × what it was"
                + " (samples differ by \(($0.spread * 100).formatted(decimals: 1)) %)"
        }
        lines += self.missing.map { "not compared: \($0)" }
        let count = self.changes.count(where: \.isWorse)
        lines.append("\(self.changes.count) compared, \(count == 0 ? "none" : "\(count)") worse")
        return lines.joined(separator: "\n")
    }
}
