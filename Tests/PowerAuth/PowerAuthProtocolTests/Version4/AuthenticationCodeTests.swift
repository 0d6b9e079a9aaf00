import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AuthenticationCodeTests {
    private struct Scene {
        let keys: Version4.ServerFactorKeys
        let counter: Version4.HashCounter
        let data: SignatureData
        let secret: SigningSecret

        init(_ generator: inout SeededGenerator, pending: Bool = true, biometry: Bool = true) throws {
            self.keys = Version4.ServerFactorKeys(
                possession: generator.secret(32),
                knowledge: .init(current: generator.secret(32), pending: pending ? generator.secret(32) : nil),
                biometry: .init(current: biometry ? generator.secret(32) : nil)
            )
            self.counter = Version4.HashCounter(data: generator.secret(32), byte: 254)
            self.data = SignatureData(
                method: "post",
                uriID: "/pa/token/create",
                nonce: generator.bytes(16),
                body: generator.bytes(upTo: 50)
            )
            self.secret = .online(try generator.applicationSecret())
        }

        func verifier(lookAhead: Int = 20) -> Version4.AuthenticationCodeVerifier {
            Version4.AuthenticationCodeVerifier(keys: self.keys, counter: self.counter, lookAhead: lookAhead)
        }

        func code(_ key: SecretBytes?, steps: Int = 0) throws -> Version4.AuthenticationCode {
            try Version4.AuthenticationCode(
                self.data,
                keys: [self.keys.possession, key].compactMap(\.self),
                counter: self.counter.advanced(by: steps),
                secret: self.secret
            )
        }
    }

    @Test func anyBitFlippedIsRefused() throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator)
        let code = try scene.code(scene.keys.knowledge.current, steps: 1).onlineBytes
        let verify = { (code: [UInt8]) in
            try scene.verifier(lookAhead: 2)
                .verify(online: code, of: .possessionKnowledge, for: scene.data, secret: scene.secret)
        }
        #expect(try verify(code) != .refused, "\(generator)")
        for changed in code.withOneBitFlipped { #expect(try verify(changed) == .refused, "\(generator)") }
        for other in [[], [UInt8](code.prefix(32)), code + code, [UInt8](code.dropLast())] {
            #expect(try verify(other) == .refused)
        }
        let online = try scene.code(nil).onlineBytes
        #expect(try verify(online) == .refused, "one factor is not two")
    }

    @Test(arguments: [0, 19, 20])
    func theLookAheadEndsWhereItSays(steps: Int) throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator)
        let code = try scene.code(scene.keys.knowledge.pending, steps: steps).onlineBytes
        let outcome = try scene.verifier()
            .verify(online: code, of: .possessionKnowledge, for: scene.data, secret: scene.secret)
        guard case .accepted(let match) = outcome else {
            #expect(steps == 20, "\(generator)")
            return
        }
        #expect(steps < 20 && match.offset == steps && match.usedPendingKey)
        #expect(match.nextCounter == scene.counter.advanced(by: steps + 1))
        #expect(match.keys.knowledge == .init(current: scene.keys.knowledge.pending))
        #expect(match.keys.biometry == scene.keys.biometry)
    }

    @Test func theCurrentKeyDropsThePendingOneOfItsFactorAlone() throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator)
        let accepted = { (type: Version4.AuthenticationCodeType, key: SecretBytes?) in
            let code = try scene.code(key).onlineBytes
            let outcome = try scene.verifier().verify(online: code, of: type, for: scene.data, secret: scene.secret)
            guard case .accepted(let match) = outcome else { throw Required.Missing() }
            return match.keys
        }
        let afterPassword = try accepted(.possessionKnowledge, scene.keys.knowledge.current)
        #expect(afterPassword.knowledge == .init(current: scene.keys.knowledge.current))
        #expect(try accepted(.possession, nil) == scene.keys)
        #expect(try accepted(.possessionBiometry, scene.keys.biometry.current) == scene.keys)
    }

    @Test func biometryThatIsOffIsNoFailure() throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator, biometry: false)
        let code = try scene.code(scene.keys.knowledge.current).onlineBytes
        let outcome = try scene.verifier()
            .verify(online: code, of: .possessionBiometry, for: scene.data, secret: scene.secret)
        #expect(outcome == .biometryIsOff)
    }

    @Test(arguments: 4...8)
    func offlineCodes(length: Int) throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator)
        let keys = [scene.keys.possession, try Required.value(scene.keys.knowledge.pending)]
        let counter = scene.counter.advanced(by: 3)
        let code = try Version4.AuthenticationCode(scene.data, keys: keys, counter: counter, secret: .offline)
        let text = code.offline(componentLength: length)
        let verify = { (text: String) in
            try scene.verifier(lookAhead: 4)
                .verify(offline: text, of: .possessionKnowledge, for: scene.data, componentLength: length)
        }
        guard case .accepted(let match) = try verify(text) else {
            Issue.record("refused: \(generator)")
            return
        }
        #expect(match.offset == 3 && match.usedPendingKey)
        let shortened = try [text + "0", String(text.dropLast()), "", "-", code.online].map(verify)
        #expect(shortened.allSatisfy { $0 == .refused })
    }

    @Test func replaceableKeys() {
        let (first, second, third) = (SecretBytes(copying: [1]), SecretBytes(copying: [2]), SecretBytes(copying: [3]))
        var key = Version4.ReplaceableKey(current: nil, pending: first)
        #expect(!key.isOn && key.pending == nil)
        key.replace(with: first)
        #expect(key == .init(current: first))
        key.replace(with: second)
        key.replace(with: third)
        #expect(key == .init(current: first, pending: third))
        var settled = key
        settled.settleOnCurrent()
        #expect(settled == .init(current: first))
        settled.settleOnPending()
        #expect(settled == .init(current: first))
        key.settleOnPending()
        #expect(key == .init(current: third))
        key.remove()
        #expect(!key.isOn)
    }

    /// Anything that still parses after a bit was flipped either means the same, or is not authenticated.
    @Test func anyBitFlippedInAHeaderIsRefused() throws {
        var generator = SeededGenerator()
        let scene = try Scene(&generator)
        let nonce = generator.bytes(16)
        let header = Version4.AuthenticationHeader(
            activationID: generator.uuid(),
            applicationKey: Base64.encode(generator.bytes(16)),
            nonce: nonce,
            type: .possessionKnowledge,
            code: try scene.code(scene.keys.knowledge.current)
        )
        #expect(try Version4.AuthenticationHeader(parsing: header.value) == header)
        let token = try TokenHeader(
            version4TokenID: generator.uuid(),
            secret: scene.keys.possession,
            nonce: nonce,
            timestamp: 1_770_000_000_000
        )
        #expect(try TokenHeader(parsing: token.value, inVersion4: true) == token)
        for changed in Array(header.value.utf8).withOneBitFlipped {
            guard let parsed = try? Version4.AuthenticationHeader(parsing: String(decoding: changed, as: UTF8.self)),
                parsed != header
            else { continue }
            let isOther = parsed.activationID != header.activationID || parsed.applicationKey != header.applicationKey
            let isChanged = parsed.nonce != header.nonce || parsed.code != header.code
            #expect(parsed.type == header.type && isOther != isChanged, "\(generator)")
        }
        for changed in Array(token.value.utf8).withOneBitFlipped {
            guard let parsed = try? TokenHeader(parsing: String(decoding: changed, as: UTF8.self), inVersion4: true),
                parsed != token, parsed.tokenID == token.tokenID
            else { continue }
            #expect(!parsed.isValid(secret: scene.keys.possession), "\(generator)")
        }
    }

    @Test func headersOfVersion3AreNone() throws {
        var generator = SeededGenerator()
        let code = Base64.encode(generator.bytes(64))
        let common =
            #"pa_activation_id="\#(generator.uuid())", pa_application_key="\#(Base64.encode(generator.bytes(16)))", "#
            + #"pa_nonce="\#(Base64.encode(generator.bytes(16)))""#
        let names = #"pa_auth_code_type="possession_knowledge", pa_auth_code="\#(code)""#
        let oldNames = #"pa_signature_type="possession_knowledge", pa_signature="\#(code)""#
        let parse = { (text: String) throws(HeaderError) in
            try Version4.AuthenticationHeader(parsing: "PowerAuth \(text)")
        }
        #expect(throws: Never.self) { try parse(#"pa_version="4.0", \#(common), \#(names)"#) }
        let refused: [(String, HeaderError)] = [
            (#"pa_version="3.3", \#(common), \#(names)"#, HeaderError("pa_version", .invalid)),
            (#"\#(common), \#(names)"#, HeaderError("pa_version", .missing)),
            (#"pa_version="4.0", \#(common), \#(oldNames)"#, HeaderError("pa_signature_type", .unexpected)),
            (#"pa_version="4.0", \#(common), \#(names), \#(oldNames)"#, HeaderError("pa_signature_type", .unexpected)),
        ]
        for (text, error) in refused { #expect(throws: error) { try parse(text) } }
        // Of the other number of factors, and in capitals, the form is right.
        for type in ["possession", "Possession_Knowledge"] {
            #expect(throws: Never.self) {
                try parse(#"pa_version="4.0", \#(common), pa_auth_code_type="\#(type)", pa_auth_code="\#(code)""#)
            }
        }
        for type in ["knowledge", "possession_knowledge_biometry", ""] {
            #expect(throws: HeaderError.self) {
                try parse(#"pa_version="4.0", \#(common), pa_auth_code_type="\#(type)", pa_auth_code="\#(code)""#)
            }
        }
        #expect(throws: HeaderError.self) {
            try SignatureHeader(parsing: "PowerAuth pa_version=\"4.0\", \(common), \(names)")
        }
    }
}
