import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SignatureTests {
    /// One signed request with everything chosen at random.
    private struct SignedRequest {
        let keys: ActivationKeys
        let secret: ApplicationSecret
        let counter: HashCounter
        let method = "POST"
        let uriID = "/operation/authorize"
        let body: [UInt8]
        let header: SignatureHeader

        init(type: SignatureType, version: ProtocolVersion = .v3_3, using generator: inout SeededGenerator) throws {
            self.keys = try ActivationKeys(masterSecret: generator.secret(16))
            self.secret = try generator.applicationSecret()
            self.counter = HashCounter(data: generator.secret(16), byte: 255)
            self.body = generator.bytes(upTo: 300)
            let nonce = generator.bytes(16)
            let data = SignatureData(method: self.method, uriID: self.uriID, nonce: nonce, body: self.body)
            let signature = RequestSignature(
                data,
                keys: self.keys.keys(for: type),
                counter: self.counter,
                secret: .online(self.secret)
            )
            self.header = SignatureHeader(
                activationID: generator.uuid(),
                applicationKey: Base64.encode(generator.bytes(16)),
                nonce: nonce,
                type: type,
                signature: signature.onlineBytes,
                version: version
            )
        }

        /// The server's side: what the header says is used as far as a server would.
        func match(
            _ header: SignatureHeader,
            method: String? = nil,
            uriID: String? = nil,
            body: [UInt8]? = nil,
            counter: HashCounter? = nil,
            secret: ApplicationSecret? = nil
        ) -> SignatureVerifier.Match? {
            let data = SignatureData(
                method: method ?? self.method,
                uriID: uriID ?? self.uriID,
                nonce: header.nonce,
                body: body ?? self.body
            )
            let verifier = SignatureVerifier(
                data,
                keys: self.keys.keys(for: header.type),
                secret: .online(secret ?? self.secret)
            )
            return verifier.match(online: header.signature, counter: counter ?? self.counter)
        }
    }

    @Test(arguments: SignatureType.allCases, ProtocolVersion.version3)
    func headersSurviveTheWay(type: SignatureType, version: ProtocolVersion) throws {
        var generator = SeededGenerator()
        let signed = try SignedRequest(type: type, version: version, using: &generator)
        let received = try SignatureHeader(parsing: signed.header.value)
        #expect(received == signed.header, "\(generator)")
        #expect(signed.match(received)?.offset == 0, "\(generator)")
        #expect(signed.header.signature.count == 16 * type.factors.count)
    }

    /// Only the version is outside the signature, as the protocol has it: both sides read it, and nothing depends on it
    /// that an encrypted body would not show.
    @Test(arguments: SignatureType.allCases)
    func anyBitFlippedInAHeaderIsRefusedOrMeansTheSame(type: SignatureType) throws {
        var generator = SeededGenerator()
        let signed = try SignedRequest(type: type, using: &generator)
        let good = signed.header
        for changed in Array(good.value.utf8).withOneBitFlipped {
            guard let header = try? SignatureHeader(parsing: String(decoding: changed, as: UTF8.self)) else { continue }
            // A server looks up activation and application by these, and finds another one or none.
            guard header.activationID.lowercased() == good.activationID, header.applicationKey == good.applicationKey
            else {
                continue
            }
            if header.nonce == good.nonce, header.signature == good.signature, header.type == good.type { continue }
            #expect(signed.match(header) == nil, "\(generator): \(header)")
        }
    }

    @Test func everythingSignedIsCovered() throws {
        var generator = SeededGenerator()
        let signed = try SignedRequest(type: .possessionKnowledge, using: &generator)
        #expect(signed.match(signed.header) != nil)
        #expect(signed.match(signed.header, method: "PUT") == nil)
        #expect(signed.match(signed.header, uriID: "/operation/cancel") == nil)
        #expect(signed.match(signed.header, body: signed.body + [0]) == nil)
        #expect(signed.match(signed.header, secret: try generator.applicationSecret()) == nil)
        for changed in signed.body.withOneBitFlipped {
            #expect(signed.match(signed.header, body: changed) == nil, "\(generator)")
        }
    }

    @Test func theServerLooksAheadAndNeverBack() throws {
        var generator = SeededGenerator()
        let signed = try SignedRequest(type: .possession, using: &generator)
        let later = try #require(signed.match(signed.header)).nextCounter
        #expect(signed.match(signed.header, counter: later) == nil, "used once, never again")
        let data = SignatureData(method: "POST", uriID: signed.uriID, nonce: signed.header.nonce, body: signed.body)
        for offset in [0, 1, 19, 20, 21] {
            let ahead = signed.counter.advanced(by: offset)
            let signature = RequestSignature(
                data,
                keys: [signed.keys.possession],
                counter: ahead,
                secret: .online(signed.secret)
            )
            let verifier = SignatureVerifier(data, keys: [signed.keys.possession], secret: .online(signed.secret))
            let match = verifier.match(online: signature.onlineBytes, counter: signed.counter)
            let expected = SignatureVerifier.Match(offset: offset, nextCounter: ahead.next())
            #expect(match == (offset < 20 ? expected : nil), "\(generator)")
        }
    }

    @Test(arguments: DecimalCode.componentLengths)
    func offlineSignaturesVerifyInTheirOwnFormOnly(length: Int) throws {
        var generator = SeededGenerator()
        let keys = [generator.secret(16), generator.secret(16)]
        let counter = HashCounter(data: generator.secret(16))
        let data = SignatureData(
            method: "POST",
            uriID: "/operation/authorize/offline",
            nonce: generator.bytes(16),
            body: Array("id&data&12345678".utf8)
        )
        let signature = RequestSignature(data, keys: keys, counter: counter.next(), secret: .offline)
        let text = signature.offline(componentLength: length)
        #expect(text.split(separator: "-").map(\.count) == [length, length])
        let verifier = SignatureVerifier(data, keys: keys, secret: .offline)
        #expect(verifier.match(offline: text, counter: counter, componentLength: length)?.offset == 1, "\(generator)")
        for wrong in ["", "-", text + "0", String(text.dropLast()), text.replacing("-", with: "")] {
            #expect(verifier.match(offline: wrong, counter: counter, componentLength: length) == nil)
        }
    }

    @Test func factorsAreInOrder() {
        for type in SignatureType.allCases {
            #expect(type.factors.map(\.rawValue).joined(separator: "_") == type.rawValue)
        }
        #expect(SignatureType(headerValue: "Possession_KNOWLEDGE") == .possessionKnowledge)
        // KELVIN SIGN lower-cases to an ASCII k.
        #expect(SignatureType(headerValue: "possession_\u{212A}nowledge") == nil)
    }
}
