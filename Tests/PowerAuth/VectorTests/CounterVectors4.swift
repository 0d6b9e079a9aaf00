import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("counter"))
struct CounterVectors4 {
    struct Input: Decodable { let ctrData: Bytes }
    struct Output: Decodable { let next: [Bytes] }

    @Test(arguments: try Vector<Input, Output>.all(in: "counter", of: .version4))
    func stepsForward(_ vector: Vector<Input, Output>) {
        let start = Version4.HashCounter(data: vector.input.ctrData.secret, byte: 250)
        var counter = start
        for (index, expected) in vector.output.next.enumerated() {
            counter = counter.next()
            #expect(counter.data == expected.secret)
            #expect(counter.byte == 250 &+ UInt8(index + 1))
            #expect(counter == start.advanced(by: index + 1))
        }
        #expect(!vector.output.next.isEmpty)
    }
}
