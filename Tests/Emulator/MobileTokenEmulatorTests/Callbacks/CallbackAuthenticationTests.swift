import Coordination
import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The bank's side with a token endpoint: which tokens it gave, which it takes, and what it was told with.
private final class GuardedBank: Sendable {
    let given = Shared(0)
    let accepted = Shared<Set<String>>([])
    let shown = Shared<[String]>([])
    let lifetime = Shared<JSONValue>(3600)
    let tokenRequests = Shared<[ReceivedRequest]>([])

    func respond(to request: ReceivedRequest) async -> ServerResponse {
        guard request.path == "/token" else {
            let token = request.header("Authorization") ?? "nothing"
            self.shown.update { $0.append(token) }
            return .json([:], status: self.accepted.value.contains(token) ? 200 : 401)
        }
        self.tokenRequests.update { $0.append(request) }
        self.given.update { $0 += 1 }
        let token = "token-\(self.given.value)"
        self.accepted.update { $0.insert("Bearer \(token)") }
        return .json([
            "access_token": .string(token), "token_type": "Bearer", "expires_in": self.lifetime.value,
        ])
    }
}

extension Emulator {
    /// Makes an operation, and waits until the bank was told of it or the attempt failed.
    fileprivate func tell(_ state: String = "delivered") async throws {
        let events = self.events()
        // One that does not expire while the test moves the clock: that would be told, too.
        try await self.cloud.createOperation("login", userID: "alice", lifetime: .seconds(86_400))
        for await event in events where event.kind == .delivery && event.status == state { return }
    }
}

@Suite(.timeLimit(.minutes(5)), .wireFact("5")) struct CallbackAuthenticationTests {
    // MARK: OAuth 2.0

    private func withBank(_ body: (Emulator, GuardedBank, _ url: String) async throws -> Void) async throws {
        let bank = GuardedBank()
        try await withServer({ await bank.respond(to: $0) }) { server in
            let url = "http://127.0.0.1:\(server.port)"
            try await withEmulator { emulator in
                await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_800_000_000))
                try await emulator.cloud.createCallback(
                    Emulator.Callback(
                        name: "bank",
                        url: "\(url)/hook",
                        authentication: [
                            .oauth2(
                                tokenURL: "\(url)/token",
                                clientID: "emu:lator",
                                clientSecret: "p@ss word",
                                scope: "callbacks read"
                            )
                        ]
                    )
                )
                try await body(emulator, bank, url)
            }
        }
    }

    @Test func aTokenIsFetchedWithTheClientsCredentialsAndKeptUntilItExpires() async throws {
        try await self.withBank { emulator, bank, url in
            try await emulator.tell()
            try await emulator.tell()
            #expect(bank.shown.value == ["Bearer token-1", "Bearer token-1"])
            let request = try #require(bank.tokenRequests.value.first)
            #expect(request.method == "POST")
            #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
            #expect(
                String(decoding: request.body, as: UTF8.self) == "grant_type=client_credentials&scope=callbacks%20read"
            )
            // emu%3Alator:p%40ss%20word
            #expect(request.header("Authorization") == "Basic ZW11JTNBbGF0b3I6cCU0MHNzJTIwd29yZA==")
            await emulator.clock.advance(by: .seconds(3600))
            try await emulator.tell()
            #expect(bank.shown.value.last == "Bearer token-2" && bank.given.value == 2)

            // All of it is in the journal, without the secret and the tokens.
            let journal = await emulator.journal().filter { $0.deliveryID == 1 }
            #expect(journal.map(\.path) == ["\(url)/token", "\(url)/hook"])
            #expect(journal.map(\.status) == [200, 200])
            let written = String(decoding: try JSONEncoder().encode(journal), as: UTF8.self)
            #expect(!written.contains("token-1") && !written.contains("ZW11"))
            #expect(journal.last?.headers.contains { $0.name == "Authorization" && $0.value == "Bearer …" } == true)
        }
    }

    @Test func deliveriesAtOnceShareOneRequestForAToken() async throws {
        try await self.withBank { emulator, bank, _ in
            let operations = 5
            for _ in 1...operations { try await emulator.cloud.createOperation("login", userID: "alice") }
            let events = emulator.events()
            if bank.shown.value.count < operations {
                for await event in events where event.kind == .delivery && event.status == "delivered" {
                    if bank.shown.value.count == operations { break }
                }
            }
            #expect(bank.given.value == 1)
            #expect(Set(bank.shown.value) == ["Bearer token-1"])
        }
    }

    /// Number 51, spot 8.
    @Test func aDeliveryThatIsCanceledTakesTheTokenFromNobodyElse() async throws {
        let client = OAuthClient(tokenURL: "https://a/", clientID: "c", clientSecret: "s", scope: nil)
        let token = try #require(AccessTokens.Token(parsing: Array(#"{"access_token":"a"}"#.utf8), at: 0))
        let (tokens, (stream, end)) = (AccessTokens(), AsyncStream.makeStream(of: Never.self))
        let deliveries = (0..<2).map { _ in
            Task {
                try await tokens.token(of: client, at: 0) {
                    for await _ in stream {}
                    return Task.isCancelled ? .failure(EmulatorError(.refused, "was canceled")) : .success(token)
                }
            }
        }
        await until { await tokens.fetching[client]?.waiterCount == 2 }
        await #expect(throws: EmulatorError.self) { try await deliveries[0].stop() }
        end.finish()
        #expect(try await deliveries[1].value == token)
    }

    @Test func aTokenThatIsRefusedIsFetchedOnceMore() async throws {
        try await self.withBank { emulator, bank, _ in
            try await emulator.tell()
            bank.accepted.value = []
            try await emulator.tell()
            #expect(bank.shown.value == ["Bearer token-1", "Bearer token-1", "Bearer token-2"])
            #expect(emulator.deliveries().map(\.attempts) == [1, 1])
            let journal = await emulator.journal().filter { $0.deliveryID == 2 }
            #expect(journal.map(\.status) == [401, 200, 200])
            #expect(journal.first?.path.hasSuffix("/hook") == true && journal.first?.isAccepted == false)
        }
    }

    @Test func aTokenOfNoStatedLifeIsUsedOnce() async throws {
        try await self.withBank { emulator, bank, _ in
            bank.lifetime.value = .null
            try await emulator.tell()
            try await emulator.tell()
            #expect(bank.shown.value == ["Bearer token-1", "Bearer token-2"])
        }
    }

    @Test(arguments: [
        (#"{"access_token":"a b","token_type":"Bearer"}"#, 200, "its endpoint's response holds no bearer token"),
        (#"{"access_token":"a","token_type":"mac"}"#, 200, "its endpoint's response holds no bearer token"),
        ("no JSON", 200, "its endpoint's response holds no bearer token"),
        (#"{"error":"invalid_client"}"#, 401, "its endpoint answered 401"),
    ])
    func withoutATokenTheBankIsNotTold(body: String, status: Int, reason: String) async throws {
        let wasTold = Shared(false)
        let respond: @Sendable (ReceivedRequest) async -> ServerResponse = { request in
            guard request.path == "/token" else {
                wasTold.value = true
                return .ok
            }
            return ServerResponse(status: status, body: .bytes(Array(body.utf8)))
        }
        try await withServer(respond) { server in
            let url = "http://127.0.0.1:\(server.port)"
            try await withEmulator { emulator in
                let credentials = Emulator.Callback.Authentication.oauth2(
                    tokenURL: "\(url)/token",
                    clientID: "a",
                    clientSecret: "b"
                )
                let callback = Emulator.Callback(name: "bank", url: "\(url)/hook", authentication: [credentials])
                try await emulator.cloud.createCallback(callback)
                try await emulator.tell("failed")
                #expect(emulator.deliveries().first?.failure == "there is no access token: \(reason)")
                #expect(!wasTold.value)
                let entry = try #require(await emulator.journal().first { $0.deliveryID == 1 })
                #expect(entry.path == "\(url)/token" && entry.refusal == reason && entry.responseBody.isEmpty)
            }
        }
    }

    // MARK: Client certificates

    @Test(arguments: [true, false]) func aCertificateIsShownToAServerThatAsksForOne(isShown: Bool) async throws {
        let (server, client) = (try await PEMIdentity(), try await PEMIdentity())
        let bank = try await CertifiedBank(server, accepting: client)
        try await withEmulator { emulator in
            let stranger = try await PEMIdentity()
            let identity = isShown ? client : stranger
            let callback = Emulator.Callback(
                name: "bank",
                subject: .operations,
                url: bank.url,
                attributes: ["status"],
                authentication: [
                    .certificate(
                        identity.certificate,
                        privateKey: identity.privateKey,
                        trustedCertificates: server.certificate
                    )
                ]
            )
            let id = try await emulator.cloud.createCallback(callback)
            try await emulator.cloud.createOperation("login", userID: "alice")
            let events = emulator.events()
            if isShown { #expect(await bank.answerOnce(to: "POST /hook HTTP/1.1")) }
            let state: Emulator.DeliverySummary.State = isShown ? .delivered : .failed
            if emulator.deliveries().first?.state != state {
                for await event in events where event.kind == .delivery && event.status == state.rawValue { break }
            }
            #expect(emulator.deliveries().first?.state == state)
            try await emulator.cloud.removeCallback(id)
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(emulator.deliveries().count == 1)
        }
    }
}

/// A certificate that vouches for itself, and its key.
private struct PEMIdentity: Sendable {
    let certificate: String
    let privateKey: String

    init() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.file("certificate.pem"), folder.file("key.pem"))
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2", "-subj",
                "/CN=test",
                "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key, "-nodes",
            ]
        )
        try #require(made.exitCode == 0)
        self.certificate = try String(contentsOfFile: certificate, encoding: .utf8)
        self.privateKey = try String(contentsOfFile: key, encoding: .utf8)
    }
}

/// A server of `https` that talks only to who shows one certificate: `openssl s_server`, answered for by hand.
private final class CertifiedBank: Sendable {
    let url: String
    private let folder: TemporaryFolder
    private let process: ChildProcess

    init(_ identity: PEMIdentity, accepting client: PEMIdentity) async throws {
        let folder = try TemporaryFolder()
        let files = [("c.pem", identity.certificate), ("k.pem", identity.privateKey), ("a.pem", client.certificate)]
        for (name, pem) in files { try pem.write(toFile: folder.file(name), atomically: true, encoding: .utf8) }
        let process = try ChildProcess(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", folder.file("c.pem"), "-key", folder.file("k.pem"),
                "-Verify", "1", "-verify_return_error", "-CAfile", folder.file("a.pem"),
            ]
        )
        var line = ""
        while !line.hasPrefix("ACCEPT") { line = try #require(await process.nextLine(), "openssl s_server ended") }
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        (self.folder, self.process, self.url) = (folder, process, "https://127.0.0.1:\(port)/hook")
    }

    /// Waits for a request, and answers it.
    ///
    /// - Returns: `true` if the request came.
    func answerOnce(to requestLine: String) async -> Bool {
        while let line = await self.process.nextLine() {
            guard line.hasPrefix(requestLine) else { continue }
            self.process.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return true
        }
        return false
    }
}
