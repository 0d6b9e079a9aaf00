@testable import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import PowerAuthCrypto
import Synchronization
import TestSupport
import Testing

/// The backend of the development server behind the transport's seam, with a network between that may do anything.
final class VerifyingServer: HTTPTransport {
    enum Fate: Sendable {
        case delivered
        case requestLost
        /// The server acts; the client never hears of it.
        case answerLost
        /// The server sees the request twice; the client has the first answer.
        case duplicated
        /// The server sees the request twice; the client has the second answer.
        case duplicatedAnsweredLast
        /// Something on the way answers instead.
        case answered(HTTPResponse)
    }

    /// In a struct, because a bare closure in a generic box grows a thunk each time it is read.
    private struct FateRule: Sendable {
        let decide: @Sendable (HTTPRequest) async throws -> Fate
    }

    private struct RewriteRule: Sendable {
        let rewrite: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse
    }

    struct State {
        /// The `id` member of every signed request that was accepted, in order.
        var accepted: [String] = []
        var requests: [HTTPRequest] = []
        /// Signed requests at this moment, and the most there ever were.
        var signing = 0
        var mostSigning = 0
        /// The outer layer of the last activation, opened.
        var lastActivationRequest: JSONValue?
    }

    static let baseURL = "https://server.test/enrollment-server"

    let configuration: SDKConfiguration
    let masterKey: P256PrivateKey
    let state = Mutex(State())
    private let backend: BackendTransport
    private let now: @Sendable () -> Date
    private let rewrite = Mutex(RewriteRule { _, response in response })
    private let fate = Mutex(FateRule { _ in .delivered })
    /// The request that makes an activation code.
    private let registration: JSONObject

    init(
        commitsAtOnce: Bool = true,
        requiredOTP: String? = nil,
        release: EmulatorServerProfile.Release = .v2_2,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.backend = try BackendTransport(now: now) {
            $0.routes = TestEndpoints.routes
            $0.profile = EmulatorServerProfile(release)
        }
        let application = self.backend.withBackend { $0.state.applications[$0.defaultApplicationID] }
        self.masterKey = try #require(application).masterKey
        self.configuration = try SDKConfiguration(
            parsing: self.backend.withBackend { $0.defaultApplication.sdkConfiguration }
        )
        var registration: JSONObject = [
            "userId": "alice", "commitPhase": commitsAtOnce ? "ON_KEY_EXCHANGE" : "ON_COMMIT",
        ]
        registration["otp"] = requiredOTP.map { .string($0) }
        registration["otpValidation"] = requiredOTP.map { _ in "ON_KEY_EXCHANGE" }
        self.registration = registration
        self.now = now
    }

    func setFate(_ fate: @escaping @Sendable (HTTPRequest) async throws -> Fate) {
        self.fate.withLock { $0 = FateRule(decide: fate) }
    }

    /// The first request to a path has a fate; everything else is delivered.
    func setFate(_ fate: Fate, ofFirst path: String) {
        let isFirst = Shared(true)
        self.setFate { $0.url.hasSuffix(path) && isFirst.take() ? fate : .delivered }
    }

    /// Holds requests to a path (`""`: all) for as long as the value is `true`, and delivers them then.
    func hold(_ path: String) -> Shared<Bool> {
        let isHeld = Shared(true)
        self.setFate { request in
            if request.url.hasSuffix(path) { await until { !isHeld.value } }
            return .delivered
        }
        return isHeld
    }

    /// Changes responses on their way from now on.
    func setRewrite(_ rewrite: @escaping @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse) {
        self.rewrite.withLock { $0 = RewriteRule(rewrite: rewrite) }
    }

    // MARK: The network

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let isSigned = request.headers[SignatureHeader.name] != nil
        self.state.withLock { state in
            state.requests.append(request)
            if isSigned {
                state.signing += 1
                state.mostSigning = max(state.mostSigning, state.signing)
            }
        }
        defer { if isSigned { self.state.withLock { $0.signing -= 1 } } }
        let fate = self.fate.withLock { $0 }
        switch try await fate.decide(request) {
        case .delivered:
            return self.rewrite.withLock { $0 }.rewrite(request, self.deliver(request))
        case .requestLost:
            throw HTTPTransportError(.connectionFailed)
        case .answerLost:
            _ = self.deliver(request)
            throw HTTPTransportError(.connectionLost)
        case .duplicated:
            let response = self.deliver(request)
            _ = self.deliver(request)
            return response
        case .duplicatedAnsweredLast:
            _ = self.deliver(request)
            return self.deliver(request)
        case .answered(let response):
            return response
        }
    }

    private func deliver(_ request: HTTPRequest) -> HTTPResponse {
        if request.url.hasSuffix("/activation/create") { self.noteActivation(request) }
        let response = self.backend.response(to: request)
        if response.status == 200, request.url.hasSuffix("/api/signed"),
            let id = try? JSONValue(parsing: request.body ?? [])["requestObject"]?["id"]?.string
        {
            self.state.withLock { $0.accepted.append(id) }
        }
        return response
    }

    /// A copy of the backend opens the outer layer.
    private func noteActivation(_ request: HTTPRequest) {
        var received = ReceivedRequest(method: "POST", target: request.url)
        received.headers = request.headers.fields.map { ($0.name, $0.value) }
        received.body = request.body ?? []
        var context = RequestContext(received, at: self.milliseconds)
        var copy = self.backend.withBackend { $0 }
        let addressee = try? Addressee(context, .application)
        let opened = try? addressee.map { try copy.open(&context, for: $0) }
        let layer = opened.flatMap { try? JSONValue(parsing: $0.plaintext) }
        self.state.withLock { $0.lastActivationRequest = layer }
    }

    func requestCount(_ path: String) -> Int {
        self.state.withLock { state in state.requests.count { $0.url.hasSuffix(path) } }
    }

    // MARK: The bank

    var milliseconds: Int64 { self.now().milliseconds }

    /// A fresh activation code, valid once.
    func makeCode(signed: Bool = false, version: ProtocolVersion = .v3_3) throws -> String {
        var request = self.registration
        request["protocolVersion"] = .string(version.rawValue)
        let registration = try self.backend.cloud(.post, "/v2/registrations", .object(request))
        return try #require(registration[signed ? "activationQrCodeData" : "activationCode"]?.string)
    }

    /// The identifiers of all activations that exchanged keys.
    var activationIDs: [String] {
        self.backend.withBackend { $0.state.activations.newestFirst.filter { $0.device != nil }.map(\.id) }
    }

    func activation(_ id: String) -> ServerActivation? { self.backend.withBackend { $0.state.activations[id] } }

    /// The server's half of an activation's keys, and its counter.
    func device(_ id: String) -> Version3.Keys? { self.activation(id)?.device?.version3 }

    /// The server's half of the keys of version 4, and its counter, also while an upgrade waits for its confirmation.
    func keys4(_ id: String) throws -> Version4.Keys { try #require(self.activation(id)?.device?.version4) }

    /// Offers every activation of version 3 an upgrade from now on.
    func offerUpgrades() {
        self.backend.withBackend { $0.protocolRules.upgradeOffers = [$0.defaultApplicationID] }
    }

    /// Drops the keys that an upgrade has made, as if it had never been asked for one.
    func forgetUpgrade(of id: String) {
        self.change(id) { activation in
            var document = try #require(try JSONValue(encoding: activation).object)
            var device = try #require(document["device"]?.object)
            device["upgrade"] = nil
            document["device"] = .object(device)
            activation = try JSONValue.object(document).decode()
        }
    }

    /// Changes one activation, as an administrator could.
    func change(_ id: String, _ change: @Sendable (inout ServerActivation) throws -> Void) {
        self.backend.withBackend { backend in
            guard var activation = backend.state.activations[id] else { return }
            do { try change(&activation) } catch { Issue.record(error) }
            backend.state.activations[id] = activation
        }
    }

    /// Lets the server draw what it drew when it was told so before.
    func drawFromTheBeginning() {
        self.backend.withBackend { $0.state.randomness = SeededRandomness(seed: 7) }
    }

    /// Sets the server up otherwise.
    func changeRules(_ change: @Sendable (inout EmulatorProtocolRules) -> Void) {
        self.backend.withBackend { change(&$0.protocolRules) }
    }

    var recoveryCodes: [RecoveryCode] { self.backend.withBackend { Array($0.state.recoveryCodes.values) } }

    /// Lets a recovery code be one that its user has not confirmed.
    func unconfirm(recoveryCode code: String) {
        self.backend.withBackend { $0.state.recoveryCodes.update(code) { $0.status = .created } }
    }

    func tokenSecret(_ id: String) -> SecretBytes? {
        self.backend.withBackend { $0.state.tokens[id]?.secret.secret }
    }

    var tokenCount: Int { self.backend.withBackend { $0.state.tokens.count } }

    /// The identifier of the application, as its administrator knows it.
    var applicationID: String { self.backend.withBackend { $0.defaultApplicationID } }

    /// Sets what the administrator keeps for clients.
    func setConfiguration(_ entries: JSONValue) throws {
        _ = try self.backend.cloud(.put, "/v2/applications/\(self.applicationID)/config", ["config": entries])
    }

    func forgetTokens() { self.backend.withBackend { $0.state.tokens.removeAll { _ in true } } }

    func forgetTemporaryKeys() { self.backend.withBackend { $0.state.temporaryKeys.removeAll { _ in true } } }
}
