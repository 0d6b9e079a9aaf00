import MobileTokenTesting
import Testing

@testable import PowerAuth

struct ReceiptRowsTests {
    /// A process that lives long must not grow; what is open is not forgotten.
    @Test func theOldestEntriesAreForgottenUnlessTheyAreOpen() {
        var rows = ReceiptRows(maximumCount: 10)
        for move in 1...100 as ClosedRange<UInt64> {
            rows.append(RecordedIntent(ActivationStoreConformance.intent("a", "\(move)"), moves: move))
            if move > 2 { rows.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a") }
        }
        let entries = rows.entries(after: 0, limit: 1_000)
        #expect((10..<20).contains(entries.count))
        #expect(entries.last?.number == 198)
        #expect(entries.first.map { $0.number + UInt64(entries.count) } == 199)
        #expect(rows.openDecisions(of: "a").map(\.moves) == [1, 2])
    }
}
