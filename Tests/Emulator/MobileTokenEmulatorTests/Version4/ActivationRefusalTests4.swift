import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

/// The refusals of the server when an activation of version 4 begins.
@Suite struct ActivationRefusalTests4 {
    private static let path = Version4.Endpoint.activationCreate.path

    /// Sends an activation whose inner layer was changed.
    private static func activate(
        _ code: String,
        suite: AlgorithmSuite = .p384,
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> Reply {
        var device = try fixture.newDevice4(suite)
        let attempt = try device.activationAttempt(code, in: &fixture, changing: change)
        return fixture.send(Self.path, attempt.outer)
    }

    @Test(arguments: AlgorithmSuite.available)
    func badKeysAreRefusedWithTheCodeUnused(suite: AlgorithmSuite) throws {
        var fixture = try BackendFixture()
        let code = try fixture.activationCode()
        let state = try fixture.exportedStateBesidesKeys()
        func change(_ name: String, _ member: String, _ value: @escaping (JSONValue?) -> JSONValue?)
            -> (inout JSONObject) -> Void
        {
            { content in
                var object = content[name]?.object ?? [:]
                object[member] = value(object[member])
                content[name] = .object(object)
            }
        }
        let offCurve: (JSONValue?) -> JSONValue? = { value in
            var bytes = value?.string.flatMap { Base64.decode($0) } ?? []
            bytes[bytes.count - 1] ^= 1
            return .string(Base64.encode(bytes))
        }
        let inList: (@escaping ([JSONValue]) -> [JSONValue]) -> (JSONValue?) -> JSONValue? = { change in
            { .array(change($0?.array ?? [])) }
        }
        let point = Base64.encode([UInt8](repeating: 6, count: 97))
        let changes: [(inout JSONObject) -> Void] = [
            { $0["sharedSecretRequest"] = nil }, { $0["devicePublicKeys"] = nil }, { $0["devicePublicKeys"] = "x" },
            change("devicePublicKeys", "ecdsa", offCurve), change("devicePublicKeys", "ecdsa") { _ in .string(point) },
            change("devicePublicKeys", "ecdsa") { _ in "AA==" }, change("devicePublicKeys", "ecdsa") { _ in nil },
            change("devicePublicKeys", "mldsa") { $0 == nil ? "AAAA" : nil },
            change("sharedSecretRequest", "algorithm") { _ in "LEGACY_P256" },
            change("sharedSecretRequest", "algorithm") { _ in "ML_L3" },
            change("sharedSecretRequest", "algorithm") { $0 == "EC_P384" ? "EC_P384_ML_L3" : "EC_P384" },
            change("sharedSecretRequest", "encapsulationKeys", inList { _ in [] }),
            change("sharedSecretRequest", "encapsulationKeys", inList { $0 + $0 }),
            change(
                "sharedSecretRequest",
                "encapsulationKeys",
                inList { [offCurve($0.first) ?? .null] + $0.dropFirst() }
            ),
            change("sharedSecretRequest", "encapsulationKeys", inList { [.string(point)] + $0.dropFirst() }),
            change("sharedSecretRequest", "encapsulationKeys", inList { $0.count > 1 ? $0.reversed() : ["AAAA"] }),
        ]
        for (number, change) in changes.enumerated() {
            let reply = try Self.activate(code, suite: suite, in: &fixture, changing: change)
            #expect(reply.outcome == "400 ERR_ACTIVATION", "change \(number)")
            #expect(try fixture.exportedStateBesidesKeys() == state, "change \(number)")
        }
        #expect(try Self.activate(code, suite: suite, in: &fixture).status == 200)
    }

    @Test(.wireFact("B8", "4.2")) func bothLayersAreOfOneKeyAndOfTheirPurpose() throws {
        var fixture = try BackendFixture()
        let code = try fixture.activationCode()
        var device = try fixture.newDevice4()
        let keys = try TestDevice4.KeysAttempt(suite: .p384)
        let identity: JSONObject = ["type": "CODE", "identityAttributes": ["code": .string(code)]]
        func send(_ inner: SealedRequest?, _ kind: JSONValue = "CODE") throws -> Reply {
            var layer = identity
            layer["type"] = kind
            layer["activationData"] = inner.map { .object($0.body) }
            return fixture.send(Self.path, try device.envelope(.genericApplication, .object(layer), in: &fixture))
        }
        let content = JSONValue.object(try keys.content)
        let wrongPurpose = try device.envelope(.genericApplication, content, in: &fixture)
        #expect(try send(wrongPurpose).outcome == "400 ERR_ACTIVATION")
        let otherKey = try device.envelope(.activation, content, in: &fixture)
        device.forgetTemporaryKeys()
        #expect(try send(otherKey).outcome == "400 ERR_ACTIVATION")
        #expect(try send(nil).outcome == "400 ERR_ACTIVATION")
        let recovery = try device.envelope(.activation, content, in: &fixture)
        #expect(try send(recovery, "RECOVERY").outcome == "400 ERR_ACTIVATION")
        let right = try device.envelope(.activation, content, in: &fixture)
        #expect(try send(right).status == 200)
    }
}
