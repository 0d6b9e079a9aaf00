import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TokenTests {
    @Test(arguments: ProtocolVersion.version3)
    func anyBitFlippedInAHeaderIsRefusedOrMeansTheSame(version: ProtocolVersion) throws {
        var generator = SeededGenerator()
        let secret = generator.secret(16)
        let good = TokenHeader(
            tokenID: generator.uuid(),
            secret: secret,
            nonce: generator.bytes(16),
            timestamp: 1_691_762_307_382,
            version: version
        )
        let received = try TokenHeader(parsing: good.value)
        #expect(received == good, "\(generator)")
        #expect(received.isValid(secret: secret), "\(generator)")
        #expect(!received.isValid(secret: generator.secret(16)), "\(generator)")
        for changed in Array(good.value.utf8).withOneBitFlipped {
            guard let header = try? TokenHeader(parsing: String(decoding: changed, as: UTF8.self)) else { continue }
            guard header.tokenID.lowercased() == good.tokenID else { continue }  // another token, or none
            let meansTheSame =
                header.nonce == good.nonce && header.digest == good.digest && header.timestamp == good.timestamp
                && header.version == good.version
            #expect(header.isValid(secret: secret) == meansTheSame, "\(generator): \(header)")
        }
    }
}
