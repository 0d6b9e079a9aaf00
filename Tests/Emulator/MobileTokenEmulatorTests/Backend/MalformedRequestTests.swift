import ExactJSON
import MobileTokenEmulator
import PowerAuthCrypto
import Testing

/// Every endpoint is sent what no client should send: it refuses by name, and its state is as it was.
@Suite(.timeLimit(.minutes(5))) struct MalformedRequestTests {
    private static let paths = [
        "/pa/v3/keystore/create", "/pa/v3/activation/create", "/pa/v3/activation/status",
        "/pa/v3/activation/remove", "/pa/v3/token/create", "/pa/v3/token/remove", "/pa/v3/vault/unlock",
        "/pa/v3/signature/validate", "/pa/v3/user/info", "/pa/v3/recovery/confirm",
        "/api/auth/token/app/operation/list", "/api/auth/token/app/operation/detail",
        "/api/auth/token/app/operation/detail/claim", "/api/auth/token/app/operation/history",
        "/api/auth/token/app/operation/authorize", "/api/auth/token/app/operation/cancel",
        "/api/push/device/register/token", "/api/push/device/register",
        "/api/inbox/count", "/api/inbox/message/list",
        "/api/inbox/message/detail", "/api/inbox/message/read", "/api/inbox/message/read-all", "/v2/registrations",
        "/v2/operations", "/v2/inbox/messages", "/admin/applications", "/v2/signature/verify", "/v2/token/verify",
        "/v2/messages/send", "/admin/users",
    ]

    private static let questionsOfNoParameters: Set = ["/api/inbox/message/list"]
    /// Nobody looks at their bodies.
    private static let bodiless: Set = [
        "/api/auth/token/app/operation/list", "/api/inbox/count", "/api/inbox/message/read-all",
    ]

    private static let bodies: [[UInt8]] =
        [
            "{", "nul", "[]", "5", "\"text\"", #"{"requestObject":"#, #"{"requestObject":[]}"#,
            #"{"requestObject":null}"#,
            #"{"requestObject":{"id":1,"jwt":2,"activationId":3,"challenge":4,"platform":9,"token":6,"tokenId":7}}"#,
            #"{"requestObject":{"id":"","data":"","reason":"","jwt":"a.b.c","activationId":"x","challenge":"!"}}"#,
            #"{"ephemeralPublicKey":"AA==","encryptedData":"AA==","mac":"AA==","nonce":"AA==","timestamp":1e400}"#,
            #"{"ephemeralPublicKey":1,"encryptedData":[],"mac":{},"nonce":null,"timestamp":"x","temporaryKeyId":true}"#,
            #"{"userId":[],"template":{},"flags":"x","appId":1,"subject":2,"summary":3,"body":4}"#,
            #"{"userId":"\ud800","template":"login","parameters":{"a":{"b":[1e999]}}}"#,
            String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 20_000),
            "{\"a\":\"" + String(repeating: "\\u0000", count: 5_000) + "\"}", #"{"a":1,"a":2"#, "\u{FEFF}{}x",
        ].map { Array($0.utf8) } + [[0xFF, 0xFE, 0x00], [0x7B, 0x22, 0xC3, 0x28, 0x22, 0x7D], [0]]

    private static let headers: [HeaderField] = [
        ("X-PowerAuth-Authorization", ""), ("X-PowerAuth-Authorization", "PowerAuth"),
        ("X-PowerAuth-Authorization", "PowerAuth pa_version=\"3.3\""),
        (
            "X-PowerAuth-Authorization",
            #"""
            PowerAuth pa_version="9.9", pa_activation_id="x", pa_application_key="x", pa_nonce="x", \#
            pa_signature_type="x", pa_signature="x"
            """#
        ),
        ("X-PowerAuth-Authorization", "PowerAuth " + String(repeating: "a=\"b\", ", count: 3_000)),
        ("X-PowerAuth-Token", #"PowerAuth token_id="x", token_digest="AA==", nonce="AA==", timestamp="99""#),
        ("X-PowerAuth-Token", #"PowerAuth version="3.3", timestamp="999999999999999999999999999999""#),
        ("X-PowerAuth-Encryption", #"PowerAuth version="3.3", application_key="x", activation_id="y""#),
        ("X-PowerAuth-Encryption", "\u{0}\u{1}"), ("Accept-Language", String(repeating: "x,", count: 8_000)),
    ]

    /// With a release that has the path.
    private static func fixture(_ path: String) throws -> BackendFixture {
        try BackendFixture { if path.contains("/recovery/") { $0.profile = .init(.v1_10) } }
    }

    @Test(arguments: Self.paths) func whatNobodyShouldSendIsRefusedAndChangesNothing(path: String) throws {
        var fixture = try Self.fixture(path)
        let device = try fixture.deviceWithToken()
        _ = try fixture.operation()
        let before = try fixture.exportedStateBesidesReplays()
        let credentials = ("Authorization", "Basic \(Base64.encode(Array("cloud:secret".utf8)))")
        for body in Self.bodies {
            let isObject = (try? JSONValue(parsing: body, limits: JSONLimits(maximumDepth: 64)))?.object != nil
            let token = device.tokenHeader(timestamp: fixture.milliseconds)
            for header in Self.headers + [token] {
                let reply = fixture.send("POST", path, headers: [header, credentials], body: body)
                if Self.bodiless.contains(path), reply.status == 200 { continue }
                // A question whose parameters may be left out can be put in any object.
                if isObject, Self.questionsOfNoParameters.contains(path), reply.status == 200 { continue }
                #expect([400, 401, 404, 500].contains(reply.status), "\(reply.status)")
                #expect(reply.code?.isEmpty == false)
            }
        }
        #expect(try fixture.exportedStateBesidesReplays() == before)
    }

    @Test(arguments: Self.paths) func randomBodiesAreRefusedAndChangeNothing(path: String) throws {
        var fixture = try Self.fixture(path)
        let before = try fixture.exportedStateBesidesReplays()
        var random = SeededRandomness(seed: 3)
        for _ in 0..<50 {
            let reply = fixture.send("POST", path, body: random.bytes(Int.random(in: 1...500, using: &random)))
            #expect([400, 401, 500].contains(reply.status))
        }
        #expect(try fixture.exportedStateBesidesReplays() == before)
    }
}
