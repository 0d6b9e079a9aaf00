import ExactJSON
import MobileToken
import MobileTokenTesting
import Testing
import WireFacts

/// Tests bodies that cannot be read: real servers answer 500, and the journal says what was wrong.
@Suite(.wireFact("B17", "2.2")) struct UnreadableRequestTests {
    private static let detail = "/api/auth/token/app/operation/detail"

    @Test func theJournalSaysWhatWasWrong() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let reply = device.sendWithToken(Self.detail, [:], in: &fixture)
        #expect(reply.verdict == .refused(reason: "The request object is missing"))
    }

    /// Clients must live with it: it is the server's fault, and what became of a decision is not known.
    @Test func theSDKTakesItForAnErrorOfTheServer() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let activation = try await emulator.makeActivation(user: "alice", password: "correct", client: client)
            let operations = client.makeOperationsService(for: activation)
            let offered = try await emulator.cloud.createOperation("login", userID: "alice")
            let operation = try #require(try await operations.operations().first { $0.id == offered.id })
            await emulator.faults.set([FaultRule(effect: .init(status: 500, code: "ERROR_GENERIC"))])
            let listing = try await #require(throws: MobileTokenError.self) { try await operations.operations() }
            let deciding = try await #require(throws: MobileTokenError.self) {
                try await operations.authorize(operation, with: .possessionAndKnowledge(password: "correct"))
            }
            #expect(listing.code == .serverError && deciding.code == .outcomeUnknown)
            for error in [listing, try #require(deciding.underlying as? MobileTokenError)] {
                #expect(error.httpStatus == 500 && error.serverCode == "ERROR_GENERIC")
            }
        }
    }

    /// "authorize byte order mark", "… trailing garbage", "… trailing second object", "… duplicate member", "… id number".
    @Test func theReaderIsAsLenientAsRealOnes() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let id = try fixture.operation("login").id
        let object = #"{"requestObject":{"id":"\#(id)"}}"#
        for body in [
            "\u{FEFF}" + object, object + " x", object + "{}",
            #"{"requestObject":{"id":"x","id":"\#(id)","zebra":[1]},"more":1}"#,
        ] {
            let token = device.tokenHeader(timestamp: fixture.milliseconds)
            #expect(fixture.send("POST", Self.detail, headers: [token], body: Array(body.utf8)).outcome == "200 OK")
        }
        let number = device.sendWithToken(Self.detail, ["requestObject": ["id": 5]], in: &fixture)
        #expect(number.outcome == "400 INVALID_OPERATION")
    }
}
