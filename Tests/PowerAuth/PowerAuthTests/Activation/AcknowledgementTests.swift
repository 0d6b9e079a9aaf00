import HTTPClientTransport
import Testing
import TestSupport
import WireFacts

import PowerAuth
@testable import PowerAuthClient

/// An answer that does not say that something was done is not taken for it: a page of a captive portal comes under 200.
@Suite(.timeLimit(.minutes(5)), .wireFact("3.2")) struct AcknowledgementTests {
    private static let page = HTTPResponse(status: 200, body: Array("<html>Please sign in</html>".utf8))
    private static let success = HTTPResponse(status: 200, body: Array(#"{"status":"OK"}"#.utf8))
    private static let refusal = HTTPResponse(
        status: 400,
        body: Array(#"{"status":"ERROR","responseObject":{"code":"ERR_UPGRADE","message":"refused"}}"#.utf8)
    )
    private let unlockKey = SecretBytes(copying: Array(0..<16))

    /// Lets something on the way answer the requests to a path.
    private func answer(_ path: String, with response: HTTPResponse, at server: VerifyingServer) {
        server.setFate { $0.url.hasSuffix(path) ? .answered(response) : .delivered }
    }

    // MARK: The rule

    @Test(arguments: [
        (#"{"status":"OK"}"#, false), (#"{"status":"OK","responseObject":{}}"#, false),
        (#"{"responseObject":{"activationId":"a"},"status":"OK"}"#, true),
        (#"{"status":"OK","responseObject":{"activationId":null}}"#, false),
        (#"{"status":"OK","responseObject":{"activationId":"a"}}"#, true),
        (#"{"status":"OK","responseObject":{"activationId":"b"}}"#, false),
        (#"{"status":"OK","responseObject":{"activationId":1}}"#, false),
        (#"{"status":"OK","status":"OK"}"#, false), (#"{"status":"ok"}"#, false), (#"{"status":true}"#, false),
        ("{}", false), ("", false), ("[]", false), ("<html></html>", false), (#""OK""#, false), (#"{"status":"#, false),
    ])
    func onlyAnEnvelopeThatSaysSoIsSuccess(body: String, isGood: Bool) {
        let subject = Acknowledgement.Subject(member: "activationId", value: "a")
        let result = Result {
            try Acknowledgement.check(ServerResponse(Array(body.utf8)), of: "/path", about: subject)
        }
        switch result {
        case .success: #expect(isGood)
        case .failure(let error):
            #expect(!isGood)
            #expect((error as? MobileTokenError)?.code == .invalidResponse)
            #expect((error as? MobileTokenError)?.httpStatus == 200)
        }
    }

    // MARK: Both versions

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0]) func aPageRemovesNothing(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        try await activation.requestToken("t")
        self.answer("/token/remove", with: Self.page, at: fixture.server)
        #expect(await errorCode { try await activation.removeToken("t") } == .invalidResponse)
        #expect(try await activation.tokenNames() == ["t"])
        self.answer("/validate", with: Self.page, at: fixture.server)
        #expect(await errorCode { try await activation.validate(Fixture.twoFactors) } == .invalidResponse)
        self.answer("/activation/remove", with: Self.page, at: fixture.server)
        await expectError(.invalidResponse) { try await activation.remove(authenticatedBy: Fixture.twoFactors) }
        let other = #"{"status":"OK","responseObject":{"activationId":"\#(activation.activationID)x"}}"#
        self.answer("/activation/remove", with: HTTPResponse(status: 200, body: Array(other.utf8)), at: fixture.server)
        await expectError(.invalidResponse) { try await activation.remove(authenticatedBy: Fixture.twoFactors) }
        #expect(try await fixture.store.activationIDs() == [activation.activationID])
        fixture.server.setFate { _ in .delivered }
        try await activation.remove(authenticatedBy: Fixture.twoFactors)
        #expect(try await fixture.store.activationIDs().isEmpty)
    }

    /// In version 3 a password that nobody has checked would protect another key from then on. Anybody could have written the success.
    @Test(arguments: [Self.page, Self.success], [true, false]) func anAnswerAloneDoesNotLetAWrongPasswordThrough(
        response: HTTPResponse,
        isDelivered: Bool
    ) async throws {
        let (fixture, activation) = try await Fixture().activated
        if isDelivered {
            fixture.server.setRewrite { $0.url.hasSuffix("/signature/validate") ? response : $1 }
        } else {
            self.answer("/signature/validate", with: response, at: fixture.server)
        }
        let (wrong, new) = (SecretBytes(utf8: "wrong-password"), SecretBytes(utf8: "new-password"))
        #expect(await errorCode { try await activation.changePassword(from: wrong, to: new) } == .invalidResponse)
        await expectError(.invalidResponse) { try await activation.validate(.possessionAndKnowledge(password: wrong)) }
        #expect(await errorCode { _ = try await activation.beginPasswordChange(from: wrong) } == .invalidResponse)
        fixture.server.setFate { _ in .delivered }
        fixture.server.setRewrite { $1 }
        try await activation.approve("a", with: Fixture.twoFactors)
    }

    // MARK: Version 4

    @Test func aPageDoesNotRemoveBiometry() async throws {
        let fixture = try Fixture(version: .v4_0)
        let activation = try await fixture.activate(biometryKey: self.unlockKey)
        self.answer("/biometry/remove", with: Self.page, at: fixture.server)
        #expect(await errorCode { try await activation.removeBiometryFactor() } == .invalidResponse)
        #expect(try await activation.hasBiometryFactor())
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("a", with: .possessionAndBiometry(key: self.unlockKey))
    }

    /// Pages, and an answer that anybody could have written, while the server hears nothing.
    @Test(arguments: [Self.page, Self.success]) func nothingIsConfirmedThatTheServerHasNotHeardOf(
        response: HTTPResponse
    ) async throws {
        let fixture = try Fixture(version: .v4_0)
        self.answer("/activation/confirm", with: response, at: fixture.server)
        #expect(await errorCode { _ = try await fixture.activate() } == .activationNotConfirmed)
        let id = try #require(try await fixture.client.activationIDs().first)
        let activation = try await fixture.client.activation(id: id)
        #expect(try await activation.storedRecord().version4?.pendingConfirmation == .activation)
        #expect(fixture.server.requestCount("/activation/confirm") == 3)
        fixture.server.setFate { _ in .delivered }
        try await activation.confirm(password: Fixture.secret)
        try await activation.approve("a", with: Fixture.twoFactors)
    }

    @Test(arguments: [Self.page, Self.success]) func noUpgradeIsConfirmedThatTheServerHasNotHeardOf(
        response: HTTPResponse
    ) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        self.answer("/upgrade/confirm", with: response, at: fixture.server)
        await expectError(.invalidResponse) { try await activation.upgrade(password: Fixture.secret) }
        #expect(try await activation.storedRecord().version4?.isUpgradeUnconfirmed == true)
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.storedRecord().version4?.pendingConfirmation == nil)
    }

    /// A store that believes what was never confirmed, as one may that an earlier version has written.
    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func whatTheServerStillWaitsForIsConfirmedAgain(version: ProtocolVersion) async throws {
        let fixture = try Fixture(version: version)
        self.answer("/confirm", with: Self.page, at: fixture.server)
        if version == .v4_0 {
            _ = await errorCode { _ = try await fixture.activate() }
        } else {
            let activation = try await fixture.activateInVersion3()
            _ = await errorCode { try await activation.upgrade(password: Fixture.secret) }
        }
        let id = try #require(try await fixture.client.activationIDs().first)
        try await fixture.store.update(id) { $0.version4?.pendingConfirmation = nil }
        fixture.server.setFate { _ in .delivered }
        let activation = try await fixture.client.activation(id: id)
        if version == .v4_0 {
            try await activation.confirm(password: Fixture.secret)
        } else {
            try await activation.upgrade(password: Fixture.secret)
        }
        try await activation.approve("b", with: Fixture.twoFactors)
        #expect(try await activation.status().flags == [])
    }

    /// Whoever refuses in the server's name may let the confirmation through later.
    @Test(.wireFact("17")) func aForgedRefusalDoesNotCostTheNewKeys() async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        let heldBack = Shared<HTTPRequest?>(nil)
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/upgrade/confirm") else { return .delivered }
            heldBack.value = request
            return .answered(Self.refusal)
        }
        await expectError(.upgradeFailed) { try await activation.upgrade(password: Fixture.secret) }
        #expect(try await activation.storedRecord().version4?.isUpgradeUnconfirmed == true)
        #expect(try await activation.status().flags == .upgradeAwaitsConfirmation)
        fixture.server.setFate { _ in .delivered }
        #expect(try await fixture.server.send(try #require(heldBack.value)).status == 200)
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(activation.version == .v4_0)
        #expect(try await activation.status().flags == [])
        #expect(try await activation.status().counter.distance == 0)
    }
}
