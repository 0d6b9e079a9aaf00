import PowerAuthCrypto
import Testing

@Suite(.vectors4("kmac"))
struct KMACVectors4 {
    struct Input: Decodable {
        let key: Bytes
        let data: Bytes
        let custom: String
        let length: Int
    }

    struct Output: Decodable { let mac: Bytes }

    @Test(arguments: try Vector<Input, Output>.all(in: "kmac", of: .version4))
    func tag(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let data = input.data.bytes
        // In two parts, since the division must not matter.
        let parts = ([UInt8](data.prefix(data.count / 2)), [UInt8](data.dropFirst(data.count / 2)))
        let tag = try KMAC256.authenticate(
            parts.0,
            parts.1,
            key: input.key.secret,
            customization: input.custom,
            count: input.length
        )
        #expect(tag == vector.output.mac.bytes)
    }
}
