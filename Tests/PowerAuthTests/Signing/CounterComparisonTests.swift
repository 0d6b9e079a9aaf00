import MobileTokenTesting
import PowerAuthProtocol
import Testing

@testable import PowerAuth

/// What each distance between the counters means, for servers of several windows and counters about to wrap around.
@Suite struct CounterComparisonTests {
    /// An activation whose server was last known to be in step at this counter byte.
    private func record(byte: UInt8) -> ActivationRecord {
        var record = ActivationStoreConformance.sparseRecord("a")
        record.counter = HashCounter(data: record.counter.data, byte: byte)
        record.confirmCounter()
        return record
    }

    private func status(_ counter: HashCounter, of record: ActivationRecord, window: UInt8) throws
        -> ActivationStatusBlob
    {
        ActivationStatusBlob(
            state: .active,
            counterByte: counter.byte,
            failedAttempts: 0,
            maxFailedAttempts: 5,
            lookAhead: window,
            counterHash: try counter.hash(transportKey: record.transportKey)
        )
    }

    @Test(arguments: [1, 5, 20, 64], [0, 3, 130, 255] as [UInt8])
    func aServerAheadIsFollowedWithinItsWindowAndShowsARollbackBeyond(window: Int, byte: UInt8) throws {
        for steps in 1...80 {
            var record = self.record(byte: byte)
            let (before, server) = (record, record.counter.advanced(by: steps))
            let comparison = try record.synchronize(with: self.status(server, of: record, window: UInt8(window)))
            #expect(comparison.distance == -steps)
            #expect(comparison.window == window)
            if steps < window {
                #expect(comparison.result == .movedForward(steps))
                #expect(comparison.canSign)
                #expect(record.counter == server)
                #expect(record.history.unconfirmedMoves == 0)
                #expect(record.isUnsettled == before.isUnsettled)
            } else {
                #expect(comparison.result == .rolledBack)
                #expect(!comparison.canSign)
                #expect(record.counter == before.counter)
                #expect(record.isUnsettled)
            }
        }
    }

    @Test(arguments: [1, 5, 20, 64], [0, 3, 130, 255] as [UInt8])
    func aClientAheadSignsWithinTheWindowAndIsInDeadlockBeyond(window: Int, byte: UInt8) throws {
        for steps in 0...80 {
            var record = self.record(byte: byte)
            let server = record.counter
            for _ in 0..<steps { record.counter = record.counter.next() }
            let before = record
            let comparison = try record.synchronize(with: self.status(server, of: record, window: UInt8(window)))
            #expect(comparison.distance == steps)
            switch steps {
            case ...(window / 2): #expect(comparison.result == .inSync)
            case ...window: #expect(comparison.result == .signatureRecommended)
            default: #expect(comparison.result == .deadlock)
            }
            #expect(comparison.canSign == (steps <= window))
            #expect(record.counter == before.counter)
            #expect(record.isUnsettled == (steps > window))
        }
    }

    @Test func aCounterOfAnotherLineIsADeadlock() throws {
        var record = self.record(byte: 7)
        let stranger = HashCounter(data: record.counter.advanced(by: 300).data, byte: 7)
        let status = try self.status(stranger, of: record, window: 20)
        #expect(try record.synchronize(with: status).result == .deadlock)
    }

    /// 200 steps ahead reads as 56 steps behind; only what the server had confirmed tells that it cannot be behind.
    @Test func aServerFarAheadIsNotTakenForOneThatLags() throws {
        var record = self.record(byte: 10)
        let status = try self.status(record.counter.advanced(by: 200), of: record, window: 20)
        #expect(try record.synchronize(with: status).result == .rolledBack)
    }
}
