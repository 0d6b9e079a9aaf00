import EmulatorBackend
import EmulatorMessages
import Foundation
import HTTPClientTransport

/// Sends callbacks with the authentication that each requires.
struct CallbackSender: Sendable {
    let core: EmulatorCore
    let transport: any HTTPTransport
    private let tokens = AccessTokens()

    struct Attempt {
        var outcome: Outbox.Outcome
        /// The body of the response.
        var body: [UInt8] = []
        var request: ReceivedRequest?

        /// An attempt without a response.
        static func failed(_ reason: String) -> Self { Self(outcome: .noResponse(reason: reason)) }
    }

    /// Sends a delivery once, or twice with a new access token if the first one is refused.
    func send(_ delivery: Outbox.Delivery) async -> Attempt {
        guard let client = delivery.message.oauth else {
            return await self.send(delivery, authorization: nil)
        }
        do {
            let token = try await self.token(of: client, for: delivery.id)
            let attempt = await self.send(delivery, authorization: "Bearer " + token.value)
            guard attempt.outcome == .response(status: 401) else { return attempt }
            if let request = attempt.request {
                await self.core.noteRequest(request, attempt.outcome.reply(attempt.body), delivery.id)
            }
            await self.tokens.forget(token, of: client)
            let fresh = try await self.token(of: client, for: delivery.id)
            return await self.send(delivery, authorization: "Bearer " + fresh.value)
        } catch {
            return .failed("there is no access token: \(error.message)")
        }
    }

    private func send(_ delivery: Outbox.Delivery, authorization: String?) async -> Attempt {
        let request = delivery.request(authorization: authorization)
        do {
            let response = try await self.send(request.outgoing, as: delivery.message.identity)
            return Attempt(outcome: .response(status: response.status), body: response.body, request: request)
        } catch {
            return Attempt(outcome: .noResponse(reason: "\(error)"), request: request)
        }
    }

    /// - Parameter identity: The client certificate. Each such connection serves one request: they are rare, and libcurl has one
    ///   certificate per transport.
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

extension Outbox.Delivery {
    /// The request as sent and as in the journal, with the header fields of real servers, which send no tracing fields by
    /// default.
    ///
    /// - Parameter authorization: The field that replaces the message's own.
    func request(authorization: String? = nil) -> ReceivedRequest {
        var headers = [
            (name: "Content-Type", value: "application/json"), (name: "Accept", value: "application/json"),
            (name: "Idempotency-Key", value: self.idempotencyKey),
            (name: "traceparent", value: "00-00000000000000000000000000000000-0000000000000000-00"),
        ]
        if let value = authorization ?? self.message.authorization {
            headers.append((name: "Authorization", value: value))
        }
        return ReceivedRequest(method: "POST", path: self.message.url, headers: headers, body: self.message.body)
    }
}

extension ReceivedRequest {
    /// The request to send, with the whole address as its path.
    fileprivate var outgoing: HTTPRequest {
        let headers = HTTPHeaders(self.headers.map { .init(name: $0.name, value: $0.value) })
        return HTTPRequest(.post, url: self.path, headers: headers, body: self.body)
    }
}

/// A client certificate in files, because libcurl reads it by path. Only their owner can read them.
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
            for (path, pem) in documents { try ServerFile.write(Array(pem.utf8), to: path) }
        } catch {
            self.remove()
            throw error
        }
    }

    func remove() { for path in self.paths { unlink(path) } }
}
