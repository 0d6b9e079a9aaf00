import EmulatorBackend
import EmulatorMessages
import Foundation
import HTTPClientTransport

/// Sends callbacks, each authenticated as its bank wants it.
struct CallbackSender: Sendable {
    let core: EmulatorCore
    let transport: any HTTPTransport
    private let tokens = AccessTokens()

    init(core: EmulatorCore, transport: any HTTPTransport) {
        self.core = core
        self.transport = transport
    }

    /// The result of an attempt.
    struct Attempt {
        var outcome: Outbox.Outcome
        /// Of the response.
        var body: [UInt8] = []
        /// The request that was sent.
        var request: ReceivedRequest?

        /// An attempt that brought no response.
        static func failed(_ reason: String) -> Self { Self(outcome: .noResponse(reason: reason)) }
    }

    /// Sends a delivery once. One that its access token does not authorize is sent once more, with a new token.
    func send(_ delivery: Outbox.Delivery) async -> Attempt {
        guard let client = delivery.message.oauth else {
            return await self.send(delivery.message)
        }
        do {
            let token = try await self.token(of: client, for: delivery.id)
            let attempt = await self.send(delivery.message, authorization: "Bearer " + token.value)
            guard attempt.outcome == .response(status: 401) else { return attempt }
            if let request = attempt.request {
                await self.core.noteRequest(request, attempt.outcome.reply(attempt.body), delivery.id)
            }
            await self.tokens.forget(token, of: client)
            let fresh = try await self.token(of: client, for: delivery.id)
            return await self.send(delivery.message, authorization: "Bearer " + fresh.value)
        } catch {
            return .failed("there is no access token: \(error.message)")
        }
    }

    private func send(_ message: CallbackMessage, authorization: String? = nil) async -> Attempt {
        let request = message.request(authorization: authorization)
        do {
            let response = try await self.send(request.outgoing, as: message.identity)
            return Attempt(outcome: .response(status: response.status), body: response.body, request: request)
        } catch {
            return Attempt(outcome: .noResponse(reason: "\(error)"), request: request)
        }
    }

    /// - Parameter identity: The certificate to show. Such connections serve one request: they are rare, and libcurl has one
    ///   certificate for each transport.
    private func send(_ request: HTTPRequest, as identity: ClientIdentity?) async throws -> HTTPResponse {
        guard let identity else { return try await self.transport.send(request) }
        let files = try IdentityFiles(identity)
        let transport = try Self.makeTransport(files.tls)
        do {
            let response = try await transport.send(request)
            await transport.shutdown()
            files.remove()
            return response
        } catch {
            await transport.shutdown()
            files.remove()
            throw error
        }
    }

    static func makeTransport(_ tls: CurlTransport.TLS = .init()) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.timeout = .seconds(10)
        configuration.connectTimeout = .seconds(5)
        configuration.maximumConnections = Outbox.Capacity().underWay
        configuration.maximumResponseSize = 64 * 1024
        configuration.userAgent = .custom("mobile-token-emulator")
        configuration.tls = tls
        return try CurlTransport(configuration: configuration)
    }

    // MARK: Access tokens

    private func token(of client: OAuthClient, for deliveryID: UInt64) async throws(EmulatorError)
        -> AccessTokens.Token
    {
        let now = await self.core.now.milliseconds
        return try await self.tokens.token(of: client, at: now) { [core, transport] in
            let reply: Reply
            var result = Result<AccessTokens.Token, EmulatorError>.failure(EmulatorError(.refused, ""))
            do {
                let response = try await transport.send(client.tokenRequest.outgoing)
                result = AccessTokens.Token.read(response, at: now)
                reply = Reply(status: response.status, verdict: result.verdict)
            } catch {
                result = .failure(EmulatorError(.refused, "\(error)"))
                reply = Reply(status: 0, verdict: result.verdict)
            }
            await core.noteRequest(client.tokenRequest, reply, deliveryID)
            return result
        }
    }
}

extension AccessTokens.Token {
    fileprivate static func read(
        _ response: HTTPResponse,
        at now: Milliseconds
    ) -> Result<Self, EmulatorError> {
        guard (200..<300).contains(response.status) else {
            return .failure(EmulatorError(.refused, "its endpoint answered \(response.status)"))
        }
        guard let token = Self(parsing: response.body, at: now) else {
            return .failure(EmulatorError(.refused, "its endpoint's response holds no bearer token"))
        }
        return .success(token)
    }
}

extension Result<AccessTokens.Token, EmulatorError> {
    fileprivate var verdict: Verdict {
        if case .failure(let failure) = self { .refused(reason: failure.message) } else { .accepted }
    }
}

extension CallbackMessage {
    /// The request as it is sent, and as the journal shows it.
    ///
    /// - Parameter authorization: The field in the place of the message's own.
    func request(authorization: String? = nil) -> ReceivedRequest {
        var headers = [(name: "Content-Type", value: "application/json")]
        if let value = authorization ?? self.authorization { headers.append((name: "Authorization", value: value)) }
        return ReceivedRequest(method: "POST", path: self.url, headers: headers, body: self.body)
    }
}

extension ReceivedRequest {
    /// The same request on its way out; the path is the whole address.
    fileprivate var outgoing: HTTPRequest {
        let headers = HTTPHeaders(self.headers.map { .init(name: $0.name, value: $0.value) })
        return HTTPRequest(.post, url: self.path, headers: headers, body: self.body)
    }
}

/// The files of a client certificate, which libcurl reads by their paths. Nobody but their owner can read them.
private struct IdentityFiles {
    let tls: CurlTransport.TLS
    private let paths: [String]

    init(_ identity: ClientIdentity) throws {
        let folder = FileManager.default.temporaryDirectory
        let name = "mobile-token-emulator-\(UUID().uuidString)"
        let certificate = folder.appending(path: "\(name).pem").path
        let key = folder.appending(path: "\(name).key").path
        let authorities = folder.appending(path: "\(name).authorities").path
        var tls = CurlTransport.TLS()
        tls.clientCertificate = .init(
            certificateFile: certificate,
            privateKeyFile: key,
            password: identity.privateKeyPassword
        )
        var documents = [(certificate, identity.certificate), (key, identity.privateKey)]
        if let trusted = identity.trustedCertificates {
            tls.validation = .certificateAuthority(file: authorities)
            documents.append((authorities, trusted))
        }
        self.paths = documents.map(\.0)
        self.tls = tls
        do {
            for (path, pem) in documents { try PrivateFile.write(Array(pem.utf8), to: path) }
        } catch {
            self.remove()
            throw error
        }
    }

    func remove() { for path in self.paths { unlink(path) } }
}
