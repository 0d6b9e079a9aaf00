import EmulatorBackend
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("auth-code"))
struct AuthenticationCodeVectors4 {
    struct Input: Decodable {
        let type: String
        let factorKeys: [Bytes]
        let ctrData: Bytes
        let data: Bytes?
        let method: String?
        let uriId: String?
        let nonce: Bytes?
        let body: Bytes?
        let applicationSecret: String?
        let applicationKey: String?
        let activationId: String?
    }

    struct Output: Decodable {
        let normalized: Bytes?
        let online: String
        let offline: [String: String]?
        let header: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "auth-code", of: .version4))
    func codes(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard let data = input.data else { return try self.codeOfARequest(vector) }
        let code = try Version4.AuthenticationCode(
            message: data.bytes,
            keys: input.factorKeys.map(\.secret),
            counter: Version4.HashCounter(data: input.ctrData.secret)
        )
        #expect(code.online == output.online)
        #expect(output.offline?.isEmpty == false)
        for (length, text) in output.offline ?? [:] {
            #expect(code.offline(componentLength: try #require(Int(length))) == text)
        }
    }

    private func codeOfARequest(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let nonce = try #require(input.nonce).bytes
        let secret = try #require(input.applicationSecret)
        let data = SignatureData(
            method: try #require(input.method),
            uriID: try #require(input.uriId),
            nonce: nonce,
            body: try #require(input.body).bytes
        )
        #expect(data.normalized + Array("&\(secret)".utf8) == output.normalized?.bytes)
        let code = try Version4.AuthenticationCode(
            data,
            keys: input.factorKeys.map(\.secret),
            counter: Version4.HashCounter(data: input.ctrData.secret),
            secret: .online(try #require(ApplicationSecret(base64: secret)))
        )
        #expect(code.online == output.online)
        let header = Version4.AuthenticationHeader(
            activationID: try #require(input.activationId),
            applicationKey: try #require(input.applicationKey),
            nonce: nonce,
            type: try #require(Version4.AuthenticationCodeType(rawValue: input.type)),
            code: code
        )
        #expect(header.value == output.header)
        #expect(try Version4.AuthenticationHeader(parsing: output.header) == header)
        #expect(throws: HeaderError.self) { try SignatureHeader(parsing: output.header) }
    }
}

@Suite(.vectors4("auth-lookahead"))
struct AuthenticationCodeLookAheadVectors4 {
    struct FactorKeys: Decodable {
        let possession: Bytes
        let knowledge: Bytes
        let biometry: Bytes
    }

    struct Input: Decodable {
        let type: String
        let factorKeys: FactorKeys
        let nextKnowledgeKey: Bytes?
        let nextBiometryKey: Bytes?
        let serverCounter: Int
        let serverCtrData: Bytes
        let lookAhead: Int
        let data: Bytes
        let code: Bytes
    }

    struct Output: Decodable {
        let valid: Bool
        let usedNextKey: Bool?
        let counter: Int
        let ctrData: Bytes
        let knowledgeKey: Bytes
        let nextKnowledgeKey: Bytes?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "auth-lookahead", of: .version4))
    func theServerFindsCounterAndKey(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let keys = Version4.ServerFactorKeys(
            possession: input.factorKeys.possession.secret,
            knowledge: .init(current: input.factorKeys.knowledge.secret, pending: input.nextKnowledgeKey?.secret),
            biometry: .init(current: input.factorKeys.biometry.secret, pending: input.nextBiometryKey?.secret)
        )
        let counter = Version4.HashCounter(data: input.serverCtrData.secret, byte: UInt8(input.serverCounter))
        let verifier = Version4.AuthenticationCodeVerifier(keys: keys, counter: counter, lookAhead: input.lookAhead)
        let type = try #require(Version4.AuthenticationCodeType(rawValue: input.type))
        let outcome = try verifier.verify(online: input.code.bytes, of: type, message: input.data.bytes)
        guard output.valid else {
            #expect(outcome == .refused)
            #expect(output.ctrData.secret == counter.data)
            return
        }
        guard case .accepted(let match) = outcome else {
            Issue.record("refused")
            return
        }
        #expect(match.offset == output.counter - input.serverCounter - 1)
        #expect(match.usedPendingKey == output.usedNextKey)
        #expect(match.nextCounter.data == output.ctrData.secret)
        #expect(match.nextCounter.byte == UInt8(output.counter))
        #expect(match.keys.knowledge.current == output.knowledgeKey.secret)
        #expect(match.keys.knowledge.pending == output.nextKnowledgeKey?.secret)
        if type == .possessionBiometry {
            let expected = match.usedPendingKey ? input.nextBiometryKey : input.factorKeys.biometry
            #expect(match.keys.biometry == .init(current: expected?.secret))
        } else {
            #expect(match.keys.biometry == keys.biometry)
        }
    }
}
