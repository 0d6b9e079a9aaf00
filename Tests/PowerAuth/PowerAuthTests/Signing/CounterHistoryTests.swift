import StoreTesting
import Testing

import PowerAuth

struct CounterHistoryTests {
    /// A history whose client has made `unconfirmed` signatures that the server may not have seen.
    private func history(unconfirmed: UInt64) -> CounterHistory {
        CounterHistory(moves: 1_000, confirmedMoves: 1_000 - unconfirmed)
    }

    @Test func aServerInStepProvesNothing() {
        #expect(!self.history(unconfirmed: 0).isRolledBack(localByte: 7, serverByte: 7))
    }

    @Test(arguments: [1, 20, 127] as [UInt8], [0, 100, 255] as [UInt8])
    func aServerAheadProvesARollback(distance: UInt8, localByte: UInt8) {
        let history = self.history(unconfirmed: 200)
        #expect(history.isRolledBack(localByte: localByte, serverByte: localByte &+ distance))
    }

    @Test func aServerBehindTheLostAnswersIsNoRollback() {
        let history = self.history(unconfirmed: 30)
        #expect(!history.isRolledBack(localByte: 10, serverByte: 10 &- 30))
        #expect(history.isRolledBack(localByte: 10, serverByte: 10 &- 31))
    }

    /// A distance that reads as "behind" modulo 256, although the server is 200 signatures ahead.
    @Test func aServerFarAheadIsRecognizedByWhatItHadConfirmed() {
        #expect(self.history(unconfirmed: 1).isRolledBack(localByte: 10, serverByte: 10 &+ 200))
        #expect(!self.history(unconfirmed: 56).isRolledBack(localByte: 10, serverByte: 10 &+ 200))
    }

    @Test func theHistoryFollowsTheCounter() {
        var record = ActivationStoreConformance.sparseRecord("a")
        #expect(record.history == CounterHistory())
        for _ in 0..<300 { _ = record.takeMove() }
        #expect(record.history == CounterHistory(moves: 300, confirmedMoves: 0))
        record.ledger.confirm()
        #expect(record.history.unconfirmedMoves == 0)
        record.counter = .version3(HashCounter(data: record.counter.data, byte: record.counter.byte &+ 19))
        #expect(record.history == CounterHistory(moves: 319, confirmedMoves: 300))
    }
}
