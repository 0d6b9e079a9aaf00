internal import Foundation

/// SplitMix64: a failure is repeated by setting `FUZZ_SEED` to the seed that was printed.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    /// A new seed each time, printed.
    package static func announced(_ test: String = #function) -> Self {
        let given = ProcessInfo.processInfo.environment["FUZZ_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0 ... .max)
        print("\(test): FUZZ_SEED=\(seed)")
        return Self(seed: seed)
    }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
