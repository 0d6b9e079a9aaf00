extension OperationsFleet {
    /// The parts of a fleet's activations, which several processes can divide.
    package enum Buckets {
        /// The number of buckets that nodes share.
        package static let count = 64

        /// Returns the bucket of an activation, the same in every process.
        ///
        /// - Parameters:
        ///   - activationID: The identifier, byte for byte.
        ///   - count: The number of buckets: more than zero.
        package static func bucket(of activationID: String, count: Int = Self.count) -> Int {
            // FNV-1a with a final mix, because its low bits depend mostly on the last byte.
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in activationID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash ^= hash >> 32
            return Int(hash % UInt64(max(1, count)))
        }
    }
}

/// The buckets that a process should take and release. It decides; the membership locks and unlocks.
package struct BucketShare: Sendable, Equatable {
    package let count: Int
    package private(set) var owned: Set<Int> = []
    /// The bucket that this process releases last, so that processes do not all release the same ones.
    private let start: Int

    /// - Parameter start: Any number.
    package init(count: Int = OperationsFleet.Buckets.count, startingAt start: Int = 0) {
        self.count = max(1, count)
        self.start = Int(start.magnitude % UInt(self.count))
    }

    /// The maximum number of buckets for one of `processes`. The shares add up to at least all buckets.
    package func fairShare(among processes: Int) -> Int {
        let processes = max(1, processes)
        return (self.count + processes - 1) / processes
    }

    /// Returns the buckets to release.
    package func surplus(among processes: Int) -> [Int] {
        let excess = max(0, self.owned.count - self.fairShare(among: processes))
        return Array(self.inOrder.reversed().filter { self.owned.contains($0) }.prefix(excess))
    }

    /// Returns the number of buckets missing from the fair share.
    package func missing(among processes: Int) -> Int {
        max(0, self.fairShare(among: processes) - self.owned.count)
    }

    package mutating func add(_ bucket: Int) { self.owned.insert(bucket) }
    package mutating func remove(_ bucket: Int) { self.owned.remove(bucket) }

    private var inOrder: [Int] { (0..<self.count).map { ($0 + self.start) % self.count } }
}
