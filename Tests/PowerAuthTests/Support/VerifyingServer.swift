import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization

@testable import PowerAuth

/// A server of one application in memory, which verifies everything it is sent, behind the transport's seam.
///
/// It shares the protocol's arithmetic with the client and nothing else, and answers within the call, so that thousands
/// of requests take seconds.
final class VerifyingServer: HTTPTransport {
    /// What happens to one request on its way.
    enum Fate: Sendable {
        case delivered
        /// Never reaches the server.
        case requestLost
        /// The server acts; the client never hears of it.
        case answerLost
        /// The server sees the request twice; the client has the first answer.
        case duplicated
        /// Something on the way answers instead.
        case answered(HTTPResponse)
    }

    /// In a struct, because a bare closure in a generic box grows a thunk each time it is read.
    private struct FateRule: Sendable {
        let decide: @Sendable (HTTPRequest) async throws -> Fate
    }

    struct Token {
        let activationID: String
        let secret: SecretBytes
    }

    struct ServerActivation {
        let privateKey: P256PrivateKey
        let devicePublicKey: P256PublicKey
        let keys: ActivationKeys
        let applicationVersion: ProtocolVersion
        let name: String?
        var state: ActivationState
        var counter: HashCounter
        var failedAttempts = 0
        var protocolVersion = ActivationStatusBlob.newestVersion
    }

    struct State {
        var activations: [String: ServerActivation] = [:]
        var codes: Set<String> = []
        var tokens: [String: Token] = [:]
        var temporaryKeys: [String: (key: P256PrivateKey, activationID: String?, expiresAt: Int64)] = [:]
        var seenEnvelopes: Set<[UInt8]> = []
        /// The `id` member of every signed request that was accepted, in order.
        var accepted: [String] = []
        var requests: [HTTPRequest] = []
        /// Signed requests at this moment, and the most there ever were.
        var signing = 0
        var mostSigning = 0
        var lastActivationRequest: JSONValue?
    }

    static let lookAhead = 20
    static let maxFailedAttempts = 5

    let configuration: SDKConfiguration
    let masterKey: P256PrivateKey
    let state = Mutex(State())
    private let now: @Sendable () -> Date
    private struct RewriteRule: Sendable {
        let rewrite: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse
    }

    private let rewrite = Mutex(RewriteRule { _, response in response })
    private let fate = Mutex(FateRule { _ in .delivered })
    let commitsAtOnce: Bool
    let requiredOTP: String?

    init(
        commitsAtOnce: Bool = true,
        requiredOTP: String? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.masterKey = P256PrivateKey.generate()
        self.configuration = try SDKConfiguration(
            applicationKey: Base64.encode(SecureRandom.bytes(16)),
            applicationSecret: Base64.encode(SecureRandom.bytes(16)),
            masterPublicKey: Base64.encode(self.masterKey.publicKey.uncompressed)
        )
        self.commitsAtOnce = commitsAtOnce
        self.requiredOTP = requiredOTP
        self.now = now
    }

    /// Decides the fate of every request from now on.
    func setFate(_ fate: @escaping @Sendable (HTTPRequest) async throws -> Fate) {
        self.fate.withLock { $0 = FateRule(decide: fate) }
    }

    /// Changes answers on their way from now on.
    func setRewrite(_ rewrite: @escaping @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse) {
        self.rewrite.withLock { $0 = RewriteRule(rewrite: rewrite) }
    }

    var milliseconds: Int64 { self.now().millisecondsSince1970 }

    /// A fresh activation code, valid once.
    func makeCode(signed: Bool = false) throws -> String {
        let code = try ActivationCode(randomBytes: SecureRandom.bytes(10), signedBy: signed ? self.masterKey : nil)
        self.state.withLock { _ = $0.codes.insert(code.code) }
        return code.qrCodeContent
    }

    /// Changes one activation, as an administrator could.
    func change(_ id: String, _ change: (inout ServerActivation) -> Void) {
        self.state.withLock { state in
            if var activation = state.activations[id] {
                change(&activation)
                state.activations[id] = activation
            }
        }
    }

    func activation(_ id: String) -> ServerActivation? { self.state.withLock { $0.activations[id] } }

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
            return self.rewrite.withLock { $0 }.rewrite(request, self.answer(request))
        case .requestLost:
            throw HTTPTransportError(.connectionFailed)
        case .answerLost:
            _ = self.answer(request)
            throw HTTPTransportError(.connectionLost)
        case .duplicated:
            let answer = self.answer(request)
            _ = self.answer(request)
            return answer
        case .answered(let response):
            return response
        }
    }

    func requestCount(_ path: String) -> Int {
        self.state.withLock { state in state.requests.count { $0.url.hasSuffix(path) } }
    }

    /// A refusal, in the servers' envelope.
    struct Refusal: Error {
        let status: Int
        let code: String

        static let authentication = Self(status: 401, code: "ERR_AUTHENTICATION")
        static let invalidRequest = Self(status: 400, code: "INVALID_REQUEST")
        static let activation = Self(status: 400, code: "ERR_ACTIVATION")
        static let temporaryKey = Self(status: 400, code: "ERR_TEMPORARY_KEY")
        static let encryption = Self(status: 400, code: "ERR_ENCRYPTION")
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        do {
            guard request.headers["Content-Type"] == "application/json" else {
                throw Refusal(status: 415, code: "TYPE")
            }
            return HTTPResponse(status: 200, body: try self.state.withLock { try self.handle(request, &$0) })
        } catch {
            let refusal = error as? Refusal ?? .invalidRequest
            let body = #"{"status":"ERROR","responseObject":{"code":"\#(refusal.code)","message":"refused"}}"#
            return HTTPResponse(status: refusal.status, body: Array(body.utf8))
        }
    }
}
