import StoreTesting
import Testing

import PowerAuth

struct MemoryDriverTests {
    /// A process that lives long must not grow; what is open is not forgotten.
    @Test func theOldestEntriesAreForgottenUnlessTheyAreOpen() async throws {
        let store = ActivationStore.inMemory()
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        for number in 1...10_010 {
            let intent = ActivationStoreConformance.intent("a", "\(number)")
            let move = try await store.update("a", recording: intent) { $0.takeMove() + 1 }
            guard number > 2 else { continue }
            try await store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
        }
        let entries = try await store.receiptEntries(after: 0, limit: 100_000)
        #expect((10_000..<20_000).contains(entries.count))
        #expect(entries.last?.number == 20_018)
        #expect(try await store.openDecisions(of: "a").map(\.moves) == [1, 2])
    }
}
