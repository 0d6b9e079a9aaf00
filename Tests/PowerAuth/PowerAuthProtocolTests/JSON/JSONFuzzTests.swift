import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONFuzzTests {
    /// The digits, brackets and letters that JSON is made of, so that random input gets past the first byte.
    private static let alphabet =
        Array(#"{}[]",:\/.+-0123456789eEtrufalsn "#.utf8) + [0x00, 0x80, 0xC3, 0xA9, 0xED, 0xFF]

    @Test func anyBytesGiveAValueOrAnError() {
        var random = SeededGenerator()
        for _ in 0..<15_000 {
            let count = Int.random(in: 0...24, using: &random)
            let isRaw = Bool.random(using: &random)
            let bytes = (0..<count).map { _ -> UInt8 in
                isRaw ? UInt8.random(in: 0...255, using: &random) : Self.alphabet.randomElement(using: &random) ?? 0
            }
            self.check(bytes)
        }
    }

    @Test func mutationsOfAGoodTextGiveAValueOrAnError() {
        var random = SeededGenerator()
        let text = #"{"a":[1,-2.50e+3,true,null,"é\u00e9\ud83d\ude00\n"],"b":{"c":{},"d":[]},"a":"again"}"#
        for _ in 0..<15_000 {
            var bytes = Array(text.utf8)
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes.remove(at: index)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 2: bytes.insert(Self.alphabet.randomElement(using: &random) ?? 0, at: index)
                default: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
                }
                if bytes.isEmpty { break }
            }
            self.check(bytes)
        }
    }

    /// Checks that Foundation takes all JSON that is taken, unless a number is too large for its types, and that the JSON survives
    /// being written.
    private func check(_ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return }
        do {
            _ = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        } catch {
            #expect("\(error)".contains("is not representable in Swift"), "\(bytes)")
        }
        let written = value.serialized()
        #expect((try? JSONValue(parsing: written)) == value, "\(bytes)")
        #expect((try? JSONValue(parsing: written))?.serialized() == written, "\(bytes)")
    }
}
