import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("token")))
struct TokenVectors {
    struct Input: Decodable {
        let protocolVersion: String
        let tokenId: String
        let tokenSecret: Bytes
        let nonce: Bytes
        let timestamp: Int64
    }

    struct Output: Decodable {
        let digestInput: Bytes
        let tokenDigest: Bytes
        let headerName: String
        let header: String
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "token"))
    func theClientMakesAndTheServerVerifies(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        // Version 3.0 is not spoken; its digest is that of 3.1, and its header is refused.
        let spoken = ProtocolVersion(rawValue: input.protocolVersion)
        #expect(spoken != nil || input.protocolVersion == "3.0")
        let version = spoken ?? .v3_1
        let digestInput = TokenDigest.input(nonce: input.nonce.bytes, timestamp: input.timestamp, version: version)
        #expect(digestInput == output.digestInput.bytes)
        let header = TokenHeader(
            tokenID: input.tokenId,
            secret: input.tokenSecret.secret,
            nonce: input.nonce.bytes,
            timestamp: input.timestamp,
            version: version
        )
        #expect(header.digest == output.tokenDigest.bytes)
        #expect(TokenHeader.name == output.headerName)
        guard spoken != nil else {
            #expect(throws: HeaderError.self) { try TokenHeader(parsing: output.header) }
            return
        }
        #expect(header.value == output.header)
        // Servers read timestamps of 9 to 15 digits only; the file has one of a single digit.
        guard (9...15).contains(String(input.timestamp).count) else {
            #expect(throws: HeaderError("timestamp", .invalid)) { try TokenHeader(parsing: output.header) }
            return
        }
        let received = try TokenHeader(parsing: output.header)
        #expect(received == header)
        #expect(received.isValid(secret: input.tokenSecret.secret))
    }
}
