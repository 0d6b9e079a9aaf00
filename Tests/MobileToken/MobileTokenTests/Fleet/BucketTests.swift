import MobileToken
import Testing

struct BucketTests {
    /// Processes of other versions have to compute the same.
    @Test(arguments: [
        ("", 1), ("a", 0), ("f48ae8c3-3e0d-4b0a-8b8d-100000000000", 2), ("F48AE8C3-3E0D-4B0A-8B8D-100000000000", 8),
    ]) func theBucketOfAnActivationNeverChanges(id: String, bucket: Int) {
        #expect(OperationsFleet.Buckets.bucket(of: id) == bucket)
        #expect(OperationsFleet.Buckets.bucket(of: id, count: 1) == 0)
    }

    @Test func activationsSpreadEvenly() {
        var counts = [Int](repeating: 0, count: 64)
        for number in 0..<64_000 {
            counts[OperationsFleet.Buckets.bucket(of: "f48ae8c3-3e0d-4b0a-8b8d-\(100_000_000_000 + number)")] += 1
        }
        #expect(counts.allSatisfy { (850...1150).contains($0) }, "\(counts)")
    }

    /// Lets processes look after each other until nobody has anything to do.
    private func settle(_ shares: inout [BucketShare]) {
        for _ in 0..<100 {
            let before = shares
            for index in shares.indices {
                for bucket in shares[index].surplus(among: shares.count) { shares[index].remove(bucket) }
                let taken = shares.reduce(into: Set<Int>()) { $0.formUnion($1.owned) }
                let free = (0..<64).filter { !taken.contains($0) }
                for bucket in free.prefix(shares[index].missing(among: shares.count)) { shares[index].add(bucket) }
            }
            if shares == before { return }
        }
        Issue.record("the processes never settle")
    }

    @Test(arguments: [1, 2, 3, 5, 7, 63, 64]) func processesComeAndGoAndShareFairly(count: Int) {
        var shares: [BucketShare] = []
        for number in 1...count {
            shares.append(BucketShare(startingAt: 37 &* number))
            self.settle(&shares)
            let owned = shares.map(\.owned)
            #expect(owned.reduce(0) { $0 + $1.count } == 64)
            #expect(owned.reduce(into: Set<Int>()) { $0.formUnion($1) }.count == 64)
            #expect(owned.allSatisfy { $0.count <= (63 + number) / number })
        }
        // All but one die.
        shares = [shares[0]]
        self.settle(&shares)
        #expect(shares[0].owned.count == 64)
    }

    @Test func anyStartIsAStart() {
        for start in [Int.min, -1, 0, 63, 64, Int.max] {
            var share = BucketShare(startingAt: start)
            for bucket in 0..<64 { share.add(bucket) }
            #expect(Set(share.surplus(among: 64)).count == 63)
        }
    }
}
