import Basics

extension OperationsFleet {
    /// The parts that a fleet's activations are divided into, so that several processes can share them.
    public enum Buckets {
        /// The number of buckets that the processes of one machine share.
        public static let count = 64

        /// Returns the bucket of an activation, which every process computes alike.
        ///
        /// - Parameters:
        ///   - activationID: The identifier, byte for byte.
        ///   - count: The number of buckets: more than zero.
        public static func bucket(of activationID: String, count: Int = Self.count) -> Int {
            // FNV-1a, and a last mix: the low bits alone would follow the last byte.
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in activationID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash ^= hash >> 32
            return Int(hash % UInt64(max(1, count)))
        }
    }
}

/// The buckets that a process should take and give back. It decides; the membership locks and unlocks.
package struct BucketShare: Sendable, Equatable {
    /// The number of buckets in all.
    package let count: Int
    package private(set) var owned: Set<Int> = []
    /// The bucket at which this process begins to look, so that processes do not all look for the same ones.
    private let start: Int

    /// - Parameter start: Any number.
    package init(count: Int = OperationsFleet.Buckets.count, startingAt start: Int = 0) {
        self.count = max(1, count)
        self.start = Int(start.magnitude % UInt(self.count))
    }

    /// The most that one of so many processes should own. The sum over all processes is never less than all buckets.
    package func fairShare(among processes: Int) -> Int {
        let processes = max(1, processes)
        return (self.count + processes - 1) / processes
    }

    /// Returns the buckets to give back, the first to be looked for last.
    package func surplus(among processes: Int) -> [Int] {
        let excess = max(0, self.owned.count - self.fairShare(among: processes))
        return Array(self.inOrder.reversed().filter { self.owned.contains($0) }.prefix(excess))
    }

    /// Returns the buckets to try to take, as long as fewer than ``missing(among:)`` were had.
    package func candidates(among processes: Int) -> [Int] {
        self.missing(among: processes) > 0 ? self.inOrder.filter { !self.owned.contains($0) } : []
    }

    /// Returns the number of buckets that the fair share lacks.
    package func missing(among processes: Int) -> Int {
        max(0, self.fairShare(among: processes) - self.owned.count)
    }

    package mutating func add(_ bucket: Int) { self.owned.insert(bucket) }
    package mutating func remove(_ bucket: Int) { self.owned.remove(bucket) }

    private var inOrder: [Int] { (0..<self.count).map { ($0 + self.start) % self.count } }
}
