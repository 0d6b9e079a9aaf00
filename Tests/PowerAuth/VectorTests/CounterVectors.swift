import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("counter")))
struct CounterVectors {
    struct Input: Decodable {
        let initialCtrData: Bytes
        let steps: Int
        let transportKey: Bytes
    }

    struct Output: Decodable {
        let ctrDataAfterStep: [Bytes]
        let ctrDataHashes: [Bytes]
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "counter"))
    func everyStepAndItsHash(_ vector: Vector<Input, Output>) throws {
        let start = HashCounter(data: vector.input.initialCtrData.secret, byte: 250)
        var counters = [start]
        for _ in 0..<vector.input.steps { counters.append(counters[counters.count - 1].next()) }
        #expect(counters.dropFirst().map(\.data.revealed) == vector.output.ctrDataAfterStep.map(\.bytes))
        let hashes = try counters.map { try $0.hash(transportKey: vector.input.transportKey.secret) }
        #expect(hashes == vector.output.ctrDataHashes.map(\.bytes))
        let last = start.advanced(by: vector.input.steps)
        #expect(last == counters.last)
        #expect(last.byte == 250 &+ UInt8(truncatingIfNeeded: vector.input.steps))
    }
}
