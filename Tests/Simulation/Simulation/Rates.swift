import Foundation

/// The rates of all kinds of events for a thousand decisions, with their errors: a kind that a change of the code makes rarer or more
/// frequent than chance does is named, even if no rule of the judge forbids it.
struct Rates: Codable {
    struct Rate: Codable, Equatable {
        /// For a thousand decisions.
        var value: Double
        /// The standard error of the value, from the differences between worlds.
        var error: Double
    }

    /// The sums over worlds that rates are made of.
    struct Sums: Codable {
        private struct Sum: Codable {
            var events = 0.0
            var squares = 0.0
            /// The sum of the products with the world's decisions.
            var products = 0.0
        }

        private static let unit = "decisions"

        private var worlds = 0
        private var kinds: [String: Sum] = [:]

        init() {}

        init(_ counts: [String: Int]) {
            self.worlds = 1
            let decisions = Double(counts[Self.unit] ?? 0)
            self.kinds = counts.mapValues {
                Sum(events: Double($0), squares: Double($0) * Double($0), products: Double($0) * decisions)
            }
        }

        mutating func add(_ other: Self) {
            self.worlds += other.worlds
            self.kinds.merge(other.kinds) {
                Sum(
                    events: $0.events + $1.events,
                    squares: $0.squares + $1.squares,
                    products: $0.products + $1.products
                )
            }
        }

        /// The rates, with the errors of a ratio of two sums.
        var rates: Rates {
            guard let unit = self.kinds[Self.unit], unit.events > 0 else {
                return Rates(worlds: self.worlds, kinds: [:])
            }
            let kinds = self.kinds.filter { $0.key != Self.unit }.mapValues { sum in
                let ratio = sum.events / unit.events
                let spread = sum.squares - 2 * ratio * sum.products + ratio * ratio * unit.squares
                return Rate(value: 1_000 * ratio, error: 1_000 * max(0, spread).squareRoot() / unit.events)
            }
            return Rates(worlds: self.worlds, kinds: kinds)
        }
    }

    /// The difference that chance makes, in standard errors: once in some hundred thousand kinds.
    private static let limit = 4.5

    let worlds: Int
    let kinds: [String: Rate]

    init(worlds: Int, kinds: [String: Rate]) { (self.worlds, self.kinds) = (worlds, kinds) }

    init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: path)))
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: URL(filePath: path))
    }

    /// Returns the kinds whose rates differ from those that were kept by more than chance, with both.
    func differences(from kept: Self) -> [String] {
        Set(self.kinds.keys).union(kept.kinds.keys).sorted().compactMap { kind in
            let none = Rate(value: 0, error: 0)
            let (now, before) = (self.kinds[kind] ?? none, kept.kinds[kind] ?? none)
            // Few worlds may lack a rare kind, and show no error: that of more worlds says how much theirs is.
            let scale = (Double(kept.worlds) / Double(max(1, self.worlds))).squareRoot()
            let own = max(now.error, before.error * scale)
            let error = (own * own + before.error * before.error).squareRoot()
            guard abs(now.value - before.value) > Self.limit * error else { return nil }
            func text(_ rate: Rate) -> String { String(format: "%.2f ± %.2f", rate.value, rate.error) }
            return "\(kind): \(text(now)) for a thousand decisions, and \(text(before)) before"
        }
    }
}
