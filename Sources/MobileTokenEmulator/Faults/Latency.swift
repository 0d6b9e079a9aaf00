package import APIDescriptions
import Basics
import ExactJSON
import Foundation

extension FaultRule {
    /// A delay that is drawn anew for each request, in seconds.
    public struct Latency: Sendable, Codable, Hashable {
        /// A network whose latency is known by its name.
        public enum Profile: String, Sendable, Codable, CaseIterable {
            /// A network within a building: 1 ms, and 5 ms for the slowest of a hundred.
            case lan
            /// Wireless within a building: 2 ms, and 50 ms for the slowest of a hundred.
            case wifi
            /// Mobile of the fourth generation: 170 ms, and 700 ms for the slowest of a hundred.
            case fourG = "4g"
            /// Mobile of the third generation: 300 ms, and 1.5 s for the slowest of a hundred.
            case threeG = "3g"
            /// By a geostationary satellite: 600 ms, and 1.5 s for the slowest of a hundred.
            case satellite
        }

        enum Base: Hashable {
            case profile(Profile)
            case uniform(from: Double, to: Double)
            case logNormal(median: Double, p99: Double, maximum: Double)
        }

        let base: Base

        /// The latency of a network.
        public static func profile(_ profile: Profile) -> Self { Self(base: .profile(profile)) }

        /// Any latency within bounds, each as likely as the others.
        public static func uniform(from: Double, to: Double) -> Self { Self(base: .uniform(from: from, to: to)) }

        /// A latency as networks have it: most are near the median, few are far above.
        ///
        /// - Parameters:
        ///   - median: The one that half of the requests stay below.
        ///   - p99: The one that all but one of a hundred requests stay below.
        ///   - maximum: The longest; what would be longer is that long.
        public static func logNormal(median: Double, p99: Double, maximum: Double = 3600) -> Self {
            Self(base: .logNormal(median: median, p99: p99, maximum: maximum))
        }
    }
}

// MARK: - Drawing

extension FaultRule.Latency.Profile {
    fileprivate var base: FaultRule.Latency.Base {
        switch self {
        case .lan: .logNormal(median: 0.001, p99: 0.005, maximum: 1)
        case .wifi: .logNormal(median: 0.002, p99: 0.05, maximum: 5)
        case .fourG: .logNormal(median: 0.17, p99: 0.7, maximum: 10)
        case .threeG: .logNormal(median: 0.3, p99: 1.5, maximum: 30)
        case .satellite: .logNormal(median: 0.6, p99: 1.5, maximum: 30)
        }
    }
}

extension FaultRule.Latency {
    /// The distance of the slowest of a hundred from the median, in standard deviations.
    private static let deviationsOfP99 = 2.326_347_874_040_841

    func seconds(using random: inout some RandomNumberGenerator) -> Double {
        let first = Double.random(in: 0..<1, using: &random)
        return self.seconds(first, Double.random(in: 0..<1, using: &random))
    }

    /// Returns the delay that two numbers, of 0 to less than 1, draw.
    func seconds(_ first: Double, _ second: Double) -> Double { Self.seconds(self.base, first, second) }

    private static func seconds(_ base: Base, _ first: Double, _ second: Double) -> Double {
        switch base {
        case .profile(let profile): return self.seconds(profile.base, first, second)
        case .uniform(let from, let to): return from + (to - from) * first
        case .logNormal(let median, let p99, let maximum):
            // Two even numbers make a normal one, by the method of Box and Muller.
            let deviations = (-2 * log(1 - first)).squareRoot() * cos(2 * .pi * second)
            return min(median * pow(p99 / median, deviations / self.deviationsOfP99), maximum)
        }
    }
}

// MARK: - Fields

extension FaultRule.Latency: Described {
    enum Distribution: String, Sendable, CaseIterable {
        case uniform
        case logNormal = "lognormal"
    }

    private static let range = 0.0...3600.0

    package static let fields = FieldTable(
        "Latency",
        FaultRule.Latency.init(profile:distribution:from:to:median:p99:maximum:),
        .optional("profile", \.profile, .cases(), "The profile of a network, in place of all else.", example: .fourG),
        .optional("distribution", \.distribution, .cases()),
        .optional("from", \.from, .number(Self.range), "The shortest delay, for uniform.", unit: .seconds),
        .optional("to", \.to, .number(Self.range), "The longest delay, for uniform.", unit: .seconds),
        .optional("median", \.median, .number(Self.range), "The median, for lognormal.", unit: .seconds),
        .optional(
            "p99",
            \.p99,
            .number(Self.range),
            "The delay that one request of a hundred exceeds, for lognormal.",
            unit: .seconds
        ),
        .optional(
            "maximum",
            \.maximum,
            .number(Self.range),
            "The longest, of lognormal; 3600 if left out.",
            unit: .seconds
        )
    )

    private init(
        profile: Profile?,
        distribution: Distribution?,
        from: Double?,
        to: Double?,
        median: Double?,
        p99: Double?,
        maximum: Double?
    ) throws(Schema.Objection) {
        let given = Numbers(
            all: [("from", from), ("to", to), ("median", median), ("p99", p99), ("maximum", maximum)]
        )
        switch (profile, distribution) {
        case (let profile?, nil):
            try given.refuseOthers(than: [], of: "a profile")
            self.base = .profile(profile)
        case (nil, .uniform):
            try given.refuseOthers(than: ["from", "to"], of: "uniform")
            self.base = .uniform(from: try given.required("from"), to: try given.required("to"))
        case (nil, .logNormal):
            try given.refuseOthers(than: ["median", "p99", "maximum"], of: "lognormal")
            self.base = .logNormal(
                median: try given.required("median"),
                p99: try given.required("p99"),
                maximum: maximum ?? Self.range.upperBound
            )
        case (nil, nil): throw Schema.Objection(member: "", hint: "has neither a 'profile' nor a 'distribution'")
        case (_?, _?): throw Schema.Objection(member: "distribution", hint: "is given beside 'profile'")
        }
        if let objection { throw objection }
    }

    /// The reason why no delay can be drawn; `nil` when one can.
    private var objection: Schema.Objection? {
        switch self.base {
        case .profile: nil
        case .uniform(let from, let to):
            to < from || to == 0 ? .init(member: "to", hint: to == 0 ? "is 0" : "is less than 'from'") : nil
        case .logNormal(let median, let p99, let maximum):
            if median == 0 {
                .init(member: "median", hint: "is 0")
            } else if p99 < median {
                .init(member: "p99", hint: "is less than 'median'")
            } else if maximum < p99 {
                .init(member: "maximum", hint: "is less than 'p99'")
            } else {
                nil
            }
        }
    }

    /// The numbers of a latency, by their names.
    private struct Numbers {
        let all: [(name: String, value: Double?)]

        func refuseOthers(than names: Set<String>, of kind: String) throws(Schema.Objection) {
            guard let other = self.all.first(where: { $0.value != nil && !names.contains($0.name) }) else { return }
            throw Schema.Objection(member: other.name, hint: "is no number of \(kind)")
        }

        func required(_ name: String) throws(Schema.Objection) -> Double {
            guard let value = self.all.first(where: { $0.name == name })?.value else {
                throw Schema.Objection(member: name, hint: "is missing")
            }
            return value
        }
    }

    private var profile: Profile? { if case .profile(let profile) = self.base { profile } else { nil } }

    private var distribution: Distribution? {
        switch self.base {
        case .profile: nil
        case .uniform: .uniform
        case .logNormal: .logNormal
        }
    }

    private var from: Double? { if case .uniform(let from, _) = self.base { from } else { nil } }
    private var to: Double? { if case .uniform(_, let to) = self.base { to } else { nil } }
    private var median: Double? { if case .logNormal(let median, _, _) = self.base { median } else { nil } }
    private var p99: Double? { if case .logNormal(_, let p99, _) = self.base { p99 } else { nil } }
    private var maximum: Double? { if case .logNormal(_, _, let maximum) = self.base { maximum } else { nil } }
}

// MARK: - Decoding

extension FaultRule.Latency {
    /// Refuses members that it does not know, and numbers that do not go together.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }

    /// Writes the members that it has.
    public func encode(to encoder: any Encoder) throws { try self.json.encode(to: encoder) }
}
