import MobileTokenTesting

/// The random numbers of a world, all from one seed.
struct Draw: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(seed: UInt64) { self.generator = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { self.generator.next() }

    /// Returns a number in 0..<bound.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: self.next().multipliedFullWidth(by: UInt64(max(1, bound))).high)
    }

    mutating func happens(_ probability: Double) -> Bool {
        probability > 0 && Double(self.next() >> 11) * 0x1p-53 < probability
    }

    /// Returns a duration in whole microseconds.
    mutating func duration(_ range: ClosedRange<Duration>) -> Duration {
        let length = Int((range.upperBound - range.lowerBound).nanoseconds / 1_000)
        return range.lowerBound + .microseconds(self.below(length + 1))
    }

    mutating func element<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[self.below(elements.count)]
    }
}

extension Duration {
    /// The duration in whole nanoseconds; simulated centuries are far from the limit.
    var nanoseconds: Int64 { self.components.seconds * 1_000_000_000 + self.components.attoseconds / 1_000_000_000 }
}
