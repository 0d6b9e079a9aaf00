import Foundation

/// Reproducible random input: the seed is printed, and `POWERAUTH_TEST_SEED` sets it.
package struct SeededGenerator: RandomNumberGenerator, CustomStringConvertible {
    package let seed: UInt64
    private var state: UInt64

    /// Creates a generator, and prints its seed with the test's name.
    package init(test: String = #function) {
        let given = ProcessInfo.processInfo.environment["POWERAUTH_TEST_SEED"].flatMap { UInt64($0) }
        self.seed = given ?? UInt64.random(in: 0 ... .max)
        self.state = self.seed
        print("\(test): \(self)")
    }

    /// Creates a generator with a fixed sequence.
    package init(seed: UInt64) { (self.seed, self.state) = (seed, seed) }

    /// The setting that reproduces the input.
    package var description: String { "POWERAUTH_TEST_SEED=\(self.seed)" }

    /// Returns the next number of SplitMix64.
    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
