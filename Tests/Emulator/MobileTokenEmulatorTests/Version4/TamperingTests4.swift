import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

/// Every bit of what a device sends is flipped, one at a time: nothing but the exact request is accepted, and what is refused
/// changes nothing: not even what the data file would be given.
@Suite struct TamperingTests4 {
    /// The bytes whose bits are flipped: the first 256, and of the rest a sample.
    private static func positions(_ count: Int) -> [Int] {
        Array(0..<min(count, 256)) + stride(from: 256, to: count, by: max(1, (count - 256) / 64))
    }

    /// Sends a request with each bit of its body flipped, and then as it is.
    ///
    /// - Parameters:
    ///   - bits: The bits of each byte that are flipped, as masks.
    ///   - countsFailures: `true` if a refusal may count a failed attempt, which is then all that it changes.
    private static func flip(
        _ path: String,
        _ headers: [HeaderField],
        _ body: [UInt8],
        in fixture: BackendFixture,
        bits: [UInt8] = (0..<8).map { 1 << $0 },
        countsFailures: Bool = false
    ) throws {
        var fixture = fixture
        _ = fixture.backend.state.takeChanges()
        for position in Self.positions(body.count) {
            for bit in bits {
                var damaged = body
                damaged[position] ^= bit
                var copy = fixture  // a value: what happens to it is thrown away
                let reply = copy.send("POST", path, headers: headers, body: damaged)
                guard reply.status >= 400 else {
                    // JSON has more than one way to say the same; another letter case of an escape, for example.
                    #expect(Self.means(damaged, body), "byte \(position) of \(path)")
                    continue
                }
                guard !countsFailures else { continue }
                #expect(copy.backend.state.takeChanges().isEmpty, "byte \(position) of \(path)")
            }
        }
        var copy = fixture
        let reply = copy.send("POST", path, headers: headers, body: body)
        #expect(reply.status == 200, "\(reply.outcome) \(reply.verdict)")
    }

    private static func means(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        (try? JSONValue(parsing: one)) == (try? JSONValue(parsing: other))
    }

    @Test(arguments: AlgorithmSuite.available) func temporaryKeyRequests(suite: AlgorithmSuite) throws {
        let (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: suite) }
        for scope in [EnvelopeScope.application, .activation] {
            let attempt = try device.keyAttempt(scope)
            try Self.flip(Version4.Endpoint.temporaryKey.path, [], attempt.body.serialized(), in: fixture)
        }
    }

    @Test func encryptedRequests() throws {
        var (fixture, device) = try BackendFixture.active4()
        let envelope = try device.envelope(.genericActivation, in: &fixture)
        try Self.flip(Version4.Endpoint.activationStatus.path, [envelope.header], envelope.bytes, in: fixture)
    }

    @Test(arguments: AlgorithmSuite.available) func activations(suite: AlgorithmSuite) throws {
        var fixture = try BackendFixture()
        var device = try fixture.newDevice4(suite)
        let attempt = try device.activationAttempt(fixture.activationCode(), in: &fixture).outer
        try Self.flip(Version4.Endpoint.activationCreate.path, [attempt.header], attempt.bytes, in: fixture)
    }

    @Test func authenticatedRequests() throws {
        var (fixture, device) = try BackendFixture.active4()
        let body = device.validateBody().serialized()
        // Possession alone is not counted: the state stays as it was.
        let possession = try device.codeHeader(.possession, uriID: "/pa/auth/validate", body: body)
        try Self.flip("/pa/v4/auth/validate", [possession], body, in: fixture)
        let both = try device.codeHeader(.possessionKnowledge, uriID: "/pa/auth/validate", body: body)
        try Self.flip("/pa/v4/auth/validate", [both], body, in: fixture, bits: [1], countsFailures: true)
    }

    @Test func encryptedAndAuthenticatedRequests() throws {
        var (fixture, device) = try BackendFixture.active4()
        let bytes = try device.envelope(.tokenCreate, in: &fixture).bytes
        let header = try device.codeHeader(.possession, uriID: "/pa/token/create", body: bytes)
        _ = fixture.backend.state.takeChanges()
        let path = Version4.Endpoint.tokenCreate.path
        for position in bytes.indices {
            var damaged = bytes
            damaged[position] ^= 1
            var copy = fixture
            #expect(copy.send("POST", path, headers: [header], body: damaged).status >= 400)
            // White space and letter case of escapes may open; the code then covers other bytes.
            if (try? JSONValue(parsing: damaged)) != (try JSONValue(parsing: bytes)) {
                #expect(copy.backend.state.takeChanges().isEmpty, "byte \(position)")
            }
        }
        #expect(fixture.send("POST", path, headers: [header], body: bytes).status == 200)
    }

    @Test(.wireFact("B29")) func headers() throws {
        var (fixture, device) = try BackendFixture.active4()
        try device.createToken(in: &fixture)
        let body = device.validateBody().serialized()
        let code = try device.codeHeader(.possession, uriID: "/pa/auth/validate", body: body)
        let token = try device.tokenHeader(timestamp: fixture.milliseconds)
        let cases = [("/pa/v4/auth/validate", code, body), ("/api/inbox/count", token, Array("{}".utf8))]
        _ = fixture.backend.state.takeChanges()
        for (path, header, body) in cases {
            let bytes = Array(header.value.utf8)
            for position in bytes.indices {
                for bit in 0..<7 {
                    var damaged = bytes
                    damaged[position] ^= 1 << bit
                    var copy = fixture
                    let value = String(decoding: damaged, as: UTF8.self)
                    let reply = copy.send("POST", path, headers: [(header.name, value)], body: body)
                    // The bytes between the fields, the case of words and the spare bits of Base64 carry no meaning.
                    guard reply.status == 401 else {
                        #expect(HeaderFields(parsing: value).isLike(HeaderFields(parsing: header.value)), "\(position)")
                        continue
                    }
                    // The nonce of a token is used up before its digest is looked at.
                    let changes = copy.backend.state.takeChanges().filter { $0.kind != .replay }
                    #expect(changes.isEmpty)
                }
            }
        }
    }
}

extension HeaderFields {
    /// Returns whether all fields of version 4 are the same to a server.
    fileprivate func isLike(_ other: Self) -> Bool {
        [
            "pa_version", "pa_activation_id", "pa_application_key", "pa_nonce", "pa_auth_code_type", "pa_auth_code",
            "version", "token_id", "token_digest", "nonce", "timestamp",
        ].allSatisfy { name in
            let (one, another) = (self[name] ?? "", other[name] ?? "")
            let bytes = Base64.decodeTolerantly(one)
            return one.lowercased() == another.lowercased() || bytes != nil && bytes == Base64.decodeTolerantly(another)
        }
    }
}
