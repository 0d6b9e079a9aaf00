import Basics
import HTTPClientTransport
import StoreTesting
import PowerAuth
@testable import PowerAuthClient
import Testing
import TestSupport
import WireFacts

/// Tokens that vouch for more than possession.
@Suite(.wireFact("A3", "B2"), .timeLimit(.minutes(5))) struct TokenFactorTests {
    private static let endpoint = PowerAuthEndpoint<PowerAuthEmptyBody, PowerAuthEmptyBody>(
        "/api/token",
        .token("t", factors: .possessionAndKnowledge)
    )

    private func factors(_ activation: Activation, _ name: String = "t") async throws -> SignatureType? {
        try await activation.storedRecord().tokens[.init(name)]?.factors
    }

    @Test func aTokenIsMadeWithTheFactorsThatTheEndpointDemandsAndKept() async throws {
        let (fixture, activation) = try await Fixture().activated
        await expectError(.invalidAuthentication) { _ = try await activation.call(Self.endpoint, PowerAuthEmptyBody()) }
        #expect(fixture.server.requestCount("/token/create") == 0)
        _ = try await activation.call(Self.endpoint, PowerAuthEmptyBody(), with: Fixture.twoFactors)
        _ = try await activation.call(Self.endpoint, PowerAuthEmptyBody())
        #expect(fixture.server.requestCount("/token/create") == 1)
        #expect(try await self.factors(activation) == .possessionKnowledge)
    }

    @Test func aLesserTokenIsReplacedWhenMoreIsAskedFor() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.requestToken("t")
        try await activation.requestToken("t", with: Fixture.twoFactors)
        #expect(try await self.factors(activation) == .possessionKnowledge)
        try await activation.requestToken("t")
        #expect(try await self.factors(activation) == .possessionKnowledge)
        #expect(fixture.server.requestCount("/token/create") == 2)
    }

    @Test func aRefusedTokenOfTwoFactorsIsNotReplacedByALesserOne() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.requestToken("t", with: Fixture.twoFactors)
        let before = try await activation.storedRecord().tokens
        fixture.server.forgetTokens()
        let possession = PowerAuthEndpoint<PowerAuthEmptyBody, PowerAuthEmptyBody>("/api/token", .token("t"))
        for endpoint in [Self.endpoint, possession] {
            let error = await #expect(throws: MobileTokenError.self) {
                _ = try await activation.call(endpoint, PowerAuthEmptyBody())
            }
            #expect(error?.code == .refusalUnproven)
            #expect(error?.message.contains("renewToken(_:with:)") == true)
        }
        #expect(try await activation.storedRecord().tokens == before)
        #expect(fixture.server.requestCount("/token/create") == 1)

        #expect(await errorCode { try await activation.renewToken("t", with: .possession) } == .invalidAuthentication)
        try await activation.renewToken("t", with: Fixture.twoFactors)
        _ = try await activation.call(Self.endpoint, PowerAuthEmptyBody())
        #expect(try await self.factors(activation) == .possessionKnowledge)
    }

    /// Whoever takes it for another task's would ask on and on, with a signature each time.
    @Test func aServerThatHandsOutTheOldTokenAgainIsNotAskedOnAndOn() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.requestToken("key")  // from here on only tokens are drawn
        fixture.server.drawFromTheBeginning()
        try await activation.requestToken("t")
        fixture.server.drawFromTheBeginning()
        let count = fixture.server.requestCount("/token/create")
        #expect(await errorCode { try await activation.renewToken("t", with: .possession) } == .invalidResponse)
        #expect(fixture.server.requestCount("/token/create") == count + 1)
    }

    @Test func aRefusedTokenOfTwoFactorsIsRenewedWhenTheyAreAtHand() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.requestToken("t", with: Fixture.twoFactors)
        fixture.server.forgetTokens()
        _ = try await activation.call(Self.endpoint, PowerAuthEmptyBody(), with: Fixture.twoFactors)
        #expect(try await self.factors(activation) == .possessionKnowledge)
        #expect(fixture.server.requestCount("/token/create") == 2)
    }

    @Test func factorsOutliveTheProcess() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let activation = try await Fixture(server: server, store: store).activate()
        try await activation.requestToken("t", with: Fixture.twoFactors)
        let other = try await Fixture(server: server, store: store).client.activation(id: activation.activationID)
        _ = try await other.call(Self.endpoint, PowerAuthEmptyBody())
        #expect(server.requestCount("/token/create") == 1)
    }

    /// The name of the token for the activation's name is that of its factors.
    @Test func theNameAtTheServerIsAskedForWithATokenOfItsOwn() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        fixture.server.setFate { request in
            request.url.hasSuffix("/activation/detail") ? .answered(.refusal(400, "ERR_ACTIVATION")) : .delivered
        }
        await expectError(.activationFailed) {
            _ = try await activation.nameAtServer(authenticatedBy: Fixture.twoFactors)
        }
        #expect(try await activation.tokenNames() == ["possession_knowledge", "possession_universal"])
        #expect(try await self.factors(activation, "possession_knowledge") == .possessionKnowledge)
        #expect(try await self.factors(activation, "possession_universal") == .possession)
    }

    // MARK: Identifiers

    @Test(.wireFact("3.2"), arguments: ["", "x", "a\r\nb", #"a"b"#, "{0}\n", "{0}\""])
    func anIdentifierThatIsNoneIsNeitherStoredNorSent(pattern: String) async throws {
        let id = pattern.replacing("{0}", with: "3f2c0d1e-0000-4000-8000-000000000000")
        let activation = try await Fixture().activate()
        let name = ExactString("possession_universal")
        // An earlier version of this SDK may have kept it.
        try await activation.updateRecord {
            $0.tokens[name] = ActivationRecord.Token(id: id, secret: SecretBytes(copying: Array(0..<16)))
        }
        try await activation.poll()
        #expect(UUIDString.isValid(try #require(try await activation.storedRecord().tokens[name]).id))
        #expect(!ActivationRecord.Token(id: id, secret: SecretBytes(copying: [])).isUsable)
    }

    // MARK: In the store

    private func sealing() throws -> Sealing { try Sealing(key: SecretBytes(copying: Array(0..<32))) }

    private func record(_ tokens: [ExactString: ActivationRecord.Token]) -> ActivationRecord {
        altered(ActivationStoreConformance.record("a")) { $0.tokens = tokens }
    }

    private func token(_ id: String, _ factors: SignatureType = .possession) -> ActivationRecord.Token {
        ActivationRecord.Token(id: id, secret: SecretBytes(copying: Array(0..<16)), factors: factors)
    }

    @Test(arguments: [
        SignatureType.possession, .possessionKnowledge, .possessionBiometry, .possessionKnowledgeBiometry,
    ])
    func factorsAreSealedAndOpened(factors: SignatureType) throws {
        let record = self.record(["t": self.token("1", factors), "u": self.token("2")])
        #expect(try self.sealing().open(self.sealing().seal(record)) == record)
    }

    /// A token that earlier versions wrote is read as one of possession, and the form that they read is as it was.
    @Test func aTokenOfPossessionLooksAsItDidBefore() throws {
        let sealed = try self.sealing().seal(self.record(["t": self.token("1")]))
        #expect(sealed.fields.map(\.name).filter { $0.hasPrefix("token:") } == ["token:t"])
        #expect(sealed.format == .version3)
    }

    @Test func aLesserTokenThatAnEarlierVersionMadeBesideItGivesWay() throws {
        let sealing = try self.sealing()
        let two = try sealing.seal(self.record(["t": self.token("1", .possessionKnowledge)]))
        let one = try sealing.seal(self.record(["t": self.token("2")]))
        #expect(two.format == .version3)
        let both = SealedActivation(
            activationID: "a",
            fields: two.fields + one.fields.filter { $0.name == "token:t" }
        )
        #expect(try sealing.open(both).tokens == ["t": self.token("1", .possessionKnowledge)])
        let changed = both.applying(try sealing.changes(of: both) { _ in })
        #expect(changed.fields.count { $0.name.hasPrefix("token:") } == 1)
    }
}
