import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenCloud
import PowerAuth
import Testing
@testable import EmulatorBackend

/// Wrong passwords, and activations that the server will not have.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    private func error(_ body: () async throws -> Void) async -> MobileTokenError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? MobileTokenError
        }
    }

    @Test func oneWrongPasswordBurnsOneAttempt() async throws {
        let (fixture, activation) = try await Fixture().activated
        _ = await self.error { try await activation.approve("x", with: .possessionAndKnowledge(password: "wrong")) }
        #expect(fixture.server.activation(activation.activationID)?.failedAttempts == 1)
        #expect(fixture.server.requestCount("/api/signed") == 1)
        try await activation.approve("y", with: Fixture.twoFactors)
        #expect(fixture.server.activation(activation.activationID)?.failedAttempts == 0)
    }

    @Test func aBlockedActivationMayBeAskedForEverWithoutLosingItsCounter() async throws {
        let (fixture, activation) = try await Fixture().activated
        fixture.server.change(activation.activationID) { try $0.block(reason: "NOT_SPECIFIED") }
        for _ in 0..<40 {
            #expect(await self.error { try await activation.approve("x") }?.code == .activationBlocked)
        }
        fixture.server.change(activation.activationID) { try $0.unblock() }
        try await activation.approve("y")
        #expect(fixture.server.state.value.accepted == ["y"])
    }

    @Test func anActivationThatIsNotCommittedYetSaysSo() async throws {
        let (fixture, activation) = try await Fixture(server: VerifyingServer(commitsAtOnce: false)).activated
        #expect(await self.error { try await activation.approve("x") }?.code == .activationPending)
        #expect(await self.error { try await activation.poll() }?.code == .activationPending)
        fixture.server.change(activation.activationID) { try $0.commit(externalUserID: nil, otp: nil) }
        try await activation.approve("x")
        try await activation.poll()
    }

    /// Before this process started, or meanwhile: the server hands out no key to encrypt with, and says no more than that.
    @Test(arguments: [true, false]) func anActivationThatTheServerRemovedSaysSo(hasToken: Bool) async throws {
        let (fixture, activation) = try await Fixture().activated
        if hasToken { try await activation.poll() }
        fixture.server.change(activation.activationID) { $0.remove() }
        if hasToken { #expect(await self.error { try await activation.approve("x") }?.code == .activationRemoved) }
        for _ in 0..<2 { #expect(await self.error { try await activation.poll() }?.code == .activationRemoved) }
    }

    @Test func anActivationThatTheServerMovedToVersion4SaysSo() async throws {
        let (fixture, activation) = try await Fixture().activated
        let keys = try #require(fixture.server.device(activation.activationID)).derived
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/activation/status") else { return .delivered }
            return .answered(try Self.status(inVersion: 4, toldTo: request, keys))
        }
        let error = await self.error { _ = try await activation.status() }
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("version 4 of the protocol") == true)
    }

    /// Only the version that is supported can be upgraded to.
    @Test(arguments: [3, 4, 5, 255] as [UInt8])
    func anUpgradeToAVersionThatIsNotSupportedIsNoOffer(upgradeVersion: UInt8) async throws {
        let (fixture, activation) = try await Fixture().activated
        let keys = try #require(fixture.server.device(activation.activationID)).derived
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/activation/status") else { return .delivered }
            return .answered(try Self.status(inVersion: 3, offering: upgradeVersion, toldTo: request, keys))
        }
        #expect(try await activation.status().isUpgradeOffered == (upgradeVersion == 4))
    }

    /// A status as a server writes it that has moved the activation to another version.
    private static func status(
        inVersion version: UInt8,
        offering upgradeVersion: UInt8? = nil,
        toldTo request: HTTPRequest,
        _ keys: ActivationKeys
    ) throws -> HTTPResponse {
        let asked = try JSONValue(parsing: request.body ?? [])["requestObject"]
        let blob = ActivationStatusBlob(
            state: .active,
            currentVersion: version,
            upgradeVersion: upgradeVersion,
            counterByte: 0,
            failedAttempts: 0,
            maxFailedAttempts: 5,
            lookAhead: 20,
            counterHash: [UInt8](repeating: 0, count: 16)
        )
        let challenge = try #require(asked?["challenge"]?.string.flatMap { Base64.decode($0) })
        let nonce = [UInt8](0..<16)
        let encrypted = try blob.encrypted(
            transportKey: keys.transport,
            challenge: challenge,
            nonce: nonce
        )
        let status: JSONValue = [
            "activationId": asked?["activationId"] ?? .null,
            "encryptedStatusBlob": .string(Base64.encode(encrypted)),
            "nonce": .string(Base64.encode(nonce)),
        ]
        let body: JSONValue = ["status": "OK", "responseObject": status]
        return HTTPResponse(status: 200, body: body.serialized())
    }

    @Test func aRefusalWhoseReasonCannotBeAskedForIsNotAboutThePassword() async throws {
        let (fixture, activation) = try await Fixture().activated
        fixture.server.setFate { $0.url.hasSuffix("/activation/status") ? .requestLost : .delivered }
        let error = await self.error {
            try await activation.approve("x", with: .possessionAndKnowledge(password: "wrong"))
        }
        #expect(error?.code == .refusalUnproven)
        #expect(error?.message.contains("its status cannot be asked for") == true)
        // Nothing is signed before the status was asked for, so that the next attempt tells.
        let isSeen = await self.error {
            try await activation.approve("x", with: .possessionAndKnowledge(password: "wrong"))
        }
        #expect(isSeen?.code == .noConnection)
        #expect(fixture.server.requestCount("/api/signed") == 1)
    }

    /// The status is asked for on behalf of the refused request: nobody else hears how long to wait, and a poll came after 5 s.
    @Test func aRefusalWaitsAsTheAnswerInPlaceOfItsReasonAsked() async throws {
        let (fixture, activation) = try await Fixture().activated
        fixture.server.setFate { request in
            if request.url.hasSuffix("/activation/status") {
                return .answered(HTTPResponse(status: 503, headers: ["Retry-After": "40"], body: []))
            }
            if request.url.hasSuffix("/keystore/create") { return .answered(.refusal(400, "ERR_TEMPORARY_KEY")) }
            return .answered(.refusal(401, "POWERAUTH_AUTH_FAIL"))
        }
        let poll = await self.error { try await activation.poll() }
        #expect(poll?.retryAfter == .seconds(40))
        let error = await self.error { try await activation.approve("x", with: .possession) }
        #expect(error?.code == .refusalUnproven)
        #expect(error?.retryAfter == .seconds(40))
    }

    /// The enrollment server answers so when the server behind it is down, and when something on the way removes the signature
    /// (recordings, core: `token without header at probe`).
    @Test(arguments: [true, false]) func aRefusalThatNothingCountedIsNotAboutThePassword(isStatusOut: Bool) async throws
    {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        fixture.server.setFate { request in
            if request.url.hasSuffix("/activation/status") {
                return isStatusOut ? .answered(.refusal(400, "ERR_ACTIVATION")) : .delivered
            }
            if request.url.hasSuffix("/keystore/create") { return .answered(.refusal(400, "ERR_TEMPORARY_KEY")) }
            let code = request.url.contains("/api/") ? "POWERAUTH_AUTH_FAIL" : "ERR_AUTHENTICATION"
            return .answered(.refusal(401, code))
        }
        for authentication in [.possession, Fixture.twoFactors] {
            let error = await self.error { try await activation.approve("x", with: authentication) }
            let isUnsettled = isStatusOut && authentication.knowledge != nil
            #expect(error?.code == (isUnsettled ? .remoteCommunicationFailed : .refusalUnproven))
            #expect(error?.failureKind == .unknown)
            #expect(error?.isPassing == true)
            #expect(error?.remainingAttempts == nil)
        }
        let poll = await self.error { try await activation.poll() }
        #expect(poll?.failureKind == .unknown && poll?.isPassing == true)
        let status = await self.error { _ = try await activation.status() }
        #expect(status?.code == (isStatusOut ? .remoteCommunicationFailed : nil))
        // The activation is what it was.
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("y", with: Fixture.twoFactors)
        try await activation.poll()
        #expect(fixture.server.state.value.accepted == ["y"])
    }

    /// At the official server every right code of two factors is counted as a failure while the version of the application is switched off
    /// (recordings, core: `unsupported version of the application: validate`), so nothing is tried again.
    @Test func aRightCodeThatIsCountedAsAFailureIsNotTriedAgain() async throws {
        let (fixture, activation) = try await Fixture().activated
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/api/signed") else { return .delivered }
            fixture.server.change(activation.activationID) { $0.fail(.possessionKnowledge, EmulatorLimits(), at: 0) }
            return .answered(.refusal(401, "POWERAUTH_AUTH_FAIL"))
        }
        let error = await self.error {
            try await activation.approve("x", with: Fixture.twoFactors)
        }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.remainingAttempts == 4)
        #expect(fixture.server.requestCount("/api/signed") == 1)
    }

    @Test func aPasswordThatIsTooShortIsRefusedBeforeAnythingIsSent() async throws {
        let (fixture, activation) = try await Fixture().activated
        let before = fixture.server.state.value.requests.count
        await expectError(.invalidAuthentication) {
            try await activation.approve("x", with: .possessionAndKnowledge(password: "123"))
        }
        #expect(fixture.server.state.value.requests.count == before)
    }

    @Test(arguments: [500, 502, 503]) func anAnswerOfAServerInTroubleLeavesTheCounterUsable(status: Int) async throws {
        let (fixture, activation) = try await Fixture().activated
        let trouble = HTTPResponse(status: status, headers: ["Retry-After": "7"], body: Array("<html>".utf8))
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answered(trouble) : .delivered }
        for _ in 0..<9 {
            let error = await self.error { try await activation.approve("x") }
            #expect(error?.code == .httpStatus)
            #expect(error?.httpStatus == status)
            #expect(error?.retryAfter == .seconds(7))
        }
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("y")
        #expect(fixture.server.state.value.accepted == ["y"])
    }

    @Test func aPageOfAProxyIsNoProofThatTheServerSawTheSignature() async throws {
        let (fixture, activation) = try await Fixture().activated
        let page = HTTPResponse(status: 200, body: Array("<html>Log in to the airport</html>".utf8))
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answered(page) : .delivered }
        for _ in 0..<9 { try await activation.approve("x") }
        fixture.server.setFate { _ in .delivered }
        try await activation.approve("y")
        #expect(fixture.server.state.value.accepted == ["y"])
    }

    @Test(arguments: [
        (HTTPTransportError.Code.connectionFailed, MobileTokenError.Code.noConnection),
        (.connectionLost, .connectionLost), (.timeout, .timeout), (.tlsFailed, .tlsFailed),
        (.invalidResponse, .invalidResponse), (.responseTooLarge, .invalidResponse),
    ])
    func whatTheTransportThrowsHasAName(thrown: HTTPTransportError.Code, code: MobileTokenError.Code) async throws {
        let (fixture, activation) = try await Fixture().activated
        fixture.server.setFate { _ in throw HTTPTransportError(thrown) }
        #expect(await self.error { try await activation.approve("x") }?.code == code)
    }

    @Test func aRemovedActivationIsUnknownHere() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.remove(authenticatedBy: Fixture.twoFactors)
        #expect(fixture.server.activation(activation.activationID)?.status == .removed)
        #expect(try await fixture.client.activationIDs() == [])
        #expect(await self.error { try await activation.approve("x") }?.code == .unknownActivation)
        #expect(await self.error { try await activation.poll() }?.code == .unknownActivation)
        await expectError(.unknownActivation) { _ = try await fixture.client.activation(id: activation.activationID) }
    }
}
