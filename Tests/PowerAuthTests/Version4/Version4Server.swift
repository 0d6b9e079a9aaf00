import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization
import Testing

/// The server half of version 4 behind the transport's seam, with a network between that may do anything. Everything of
/// version 3 goes to a `VerifyingServer`.
final class Version4Server: HTTPTransport {
    typealias Fate = VerifyingServer.Fate

    struct State {
        var accounts: [String: Account] = [:]
        var codes: Set<String> = []
        var temporaryKeys: [String: TemporaryKey] = [:]
        var nonces: Set<[UInt8]> = []
        /// The `id` member of every signed request that was accepted, in order.
        var accepted: [String] = []
        var paths: [String] = []
        /// Transport keys of the activations of version 3 that are offered an upgrade.
        var offers: [String: SecretBytes] = [:]
        /// What an upgrade is refused with.
        var upgradeRefusal: (path: String, forgets: Bool)?
        var fate: @Sendable (HTTPRequest) async throws -> Fate = { _ in .delivered }
        var rewrite: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse = { $1 }
    }

    struct TemporaryKey {
        let activationID: String?
        let secret: SecretBytes
    }

    /// One activation of version 4, or what an upgrade has made of it so far.
    struct Account {
        var state = ActivationState.active
        var version: UInt8 = 4
        var flags: Version4.ActivationStatusBlob.Flags
        var failures: UInt8 = 0
        var name = "bot"
        let suite: AlgorithmSuite
        let keys: Version4.ActivationKeys
        var factors: Version4.ServerFactorKeys
        var counter: Version4.HashCounter
        let serverKeys: Version4.SigningPrivateKeys
        let devicePublicKeys: Version4.SigningPublicKeys
        var tokens: [String: SecretBytes] = [:]
    }

    let version3: VerifyingServer
    let masterKeys: [AlgorithmSuite: Version4.SigningPrivateKeys]
    let configuration: SDKConfiguration
    let state = Mutex(State())
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date = { Date() }) throws {
        let version3 = try VerifyingServer(now: now)
        let ecdsa = P384PrivateKey.generate()
        var masterKeys: [AlgorithmSuite: Version4.SigningPrivateKeys] = [:]
        for suite in AlgorithmSuite.available {
            masterKeys[suite] = try Version4.SigningPrivateKeys(
                suite: suite,
                ecdsa: ecdsa,
                mldsaSeed: SecureRandom.secret(32)
            )
        }
        var mldsa: [MLDSA: [UInt8]] = [:]
        for (suite, keys) in masterKeys {
            if let scheme = suite.signatureScheme { mldsa[scheme] = keys.publicKeys.mldsa?.publicKeyInfo }
        }
        self.version3 = version3
        self.masterKeys = masterKeys
        self.configuration = SDKConfiguration(
            applicationKey: version3.configuration.applicationKey,
            applicationSecret: version3.configuration.applicationSecret,
            masterPublicKey: version3.configuration.masterPublicKey,
            version4MasterPublicKeys: Version4.MasterPublicKeys(ecdsa: ecdsa.publicKey, mldsa: mldsa)
        )
        self.now = now
    }

    var milliseconds: Int64 { Int64(self.now().timeIntervalSince1970 * 1000) }

    // MARK: The bank

    /// A fresh activation code, valid once.
    func makeCode() -> String {
        let code = ActivationCode.random()
        self.state.withLock { _ = $0.codes.insert(code) }
        return code
    }

    func account(_ id: String) throws -> Account { try #require(self.state.withLock { $0.accounts[id] }) }

    func change(_ id: String, _ change: (inout Account) -> Void) {
        self.state.withLock { state in
            guard var account = state.accounts[id] else { return }
            change(&account)
            state.accounts[id] = account
        }
    }

    func setFate(_ fate: @escaping @Sendable (HTTPRequest) async throws -> Fate) {
        self.state.withLock { $0.fate = fate }
    }

    func requestCount(_ path: String) -> Int { self.state.withLock { $0.paths.count { $0.hasSuffix(path) } } }

    // MARK: The network

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let fate = self.state.withLock { state in
            state.paths.append(request.url)
            return state.fate
        }
        switch try await fate(request) {
        case .delivered:
            let response = try await self.deliver(request)
            return self.state.withLock { $0.rewrite }(request, response)
        case .requestLost: throw HTTPTransportError(.connectionFailed)
        case .answerLost:
            _ = try await self.deliver(request)
            throw HTTPTransportError(.connectionLost)
        case .duplicated:
            let response = try await self.deliver(request)
            _ = try await self.deliver(request)
            return response
        case .answered(let response): return response
        }
    }

    private func deliver(_ request: HTTPRequest) async throws -> HTTPResponse {
        let path = String(request.url.dropFirst(VerifyingServer.baseURL.count))
        if path == "/pa/v3/activation/status", let response = try await self.offer(request) { return response }
        let isVersion4 =
            path.hasPrefix("/pa/v4/")
            || request.headers[Version4.AuthenticationHeader.name].map { $0.contains(#"pa_version="4.0""#) } == true
            || request.headers[Version4.TokenHeader.name].map { $0.contains(#"version="4.0""#) } == true
        guard isVersion4 else { return try await self.version3.send(request) }
        if path == Version4.Endpoint.upgradeStart.path {
            // The code is of version 3, and covers no path: the other server verifies it.
            var check = request
            check.url = VerifyingServer.baseURL + "/api/upgrade"
            let response = try await self.version3.send(check)
            guard response.status == 200 else { return response }
        }
        do {
            let body = try self.state.withLock { state in try self.respond(to: request, path: path, &state) }
            return HTTPResponse(status: 200, body: body)
        } catch {
            return (error as? Refused ?? Refused(status: 400, code: "ERR_VALIDATION")).response
        }
    }

    struct Refused: Error {
        let status: Int
        let code: String

        static let unauthorized = Self(status: 401, code: "ERR_AUTHENTICATION")
        static let encryption = Self(status: 400, code: "ERR_ENCRYPTION")

        var response: HTTPResponse {
            let body = #"{"status":"ERROR","responseObject":{"code":"\#(self.code)","message":"refused"}}"#
            return HTTPResponse(status: self.status, body: Array(body.utf8))
        }
    }
}

extension ActivationCode {
    /// A code that is well formed, whatever it means.
    static func random() -> String {
        (try? ActivationCode(randomBytes: SecureRandom.bytes(Self.randomByteCount)).code) ?? ""
    }
}
