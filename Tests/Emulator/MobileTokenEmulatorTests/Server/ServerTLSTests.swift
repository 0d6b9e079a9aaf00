import EmulatorMessages
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import Synchronization
import TestSupport
import Testing

@testable import EmulatorBackend
@testable import EmulatorHTTP
@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct ServerTLSTests {
    private static let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    private static func echo(_ request: ReceivedRequest) async -> ServerResponse {
        ServerResponse(status: 200, body: .bytes(Array("\(request.method) \(request.path) ".utf8) + request.body))
    }

    /// A server with its certificate in a file, while `body` runs.
    private func withSecureServer(
        limits: HTTPServer.Limits = HTTPServer.Limits(),
        _ respond: @escaping @Sendable (ReceivedRequest) async -> ServerResponse = Self.echo,
        _ body: (HTTPServer, CertificateFile) async throws -> Void
    ) async throws {
        let certificate = try SelfSignedCertificate.server(boundTo: "127.0.0.1", key: .generate())
        let file = try CertificateFile(certificate)
        try await withServer(limits: limits, certificate: certificate, respond) { try await body($0, file) }
    }

    /// A client that has sent a request and is answered so, with TLS or without.
    private func withClient(
        isSecure: Bool,
        _ response: ServerResponse,
        _ body: (RawConnection) async throws -> Void
    ) async throws {
        guard isSecure else {
            return try await withServer({ _ in response }) { server in
                let client = try RawConnection(port: server.port)
                try await client.send(Self.request)
                try await body(client)
            }
        }
        try await self.withSecureServer({ _ in response }) { server, file in
            let client = try RawConnection(securePort: server.port, trusting: file.certificate.file)
            try await client.send(Self.request)
            try await body(client)
        }
    }

    /// A client of the SDK's kind.
    private func makeTransport(
        trusting file: CertificateFile,
        connections: Int = 64
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.tls.validation = .certificateAuthority(file: file.certificate.file)
        configuration.tls.pinnedPublicKeys = [file.certificate.publicKeyPin]
        configuration.maximumConnections = connections
        configuration.maximumRequestsPerHost = connections
        configuration.timeout = .seconds(120)
        configuration.connectTimeout = .seconds(120)
        return try CurlTransport(configuration: configuration)
    }

    private func expectService(_ server: HTTPServer, _ file: CertificateFile) async throws {
        let transport = try self.makeTransport(trusting: file)
        #expect(try await transport.send(HTTPRequest(.get, url: "https://127.0.0.1:\(server.port)/a")).status == 200)
        await transport.shutdown()
    }

    @Test func requestsPipelinedInOneStreamAreAnsweredInOrder() async throws {
        try await self.withSecureServer { server, file in
            let client = try RawConnection(securePort: server.port, trusting: file.certificate.file)
            // Longer than a TLS record, so that parts of one request and of the next lie decrypted in the library.
            let body = String(repeating: "x", count: 40_000)
            let requests = (1...10).map { "POST /\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n\(body)" }
            try await client.send(requests.joined())
            for number in 1...10 { #expect(try await client.response().text == "POST /\(number) \(body)") }
        }
    }

    @Test(arguments: [true, false]) func aBodyIsSentWhileItIsProduced(isSecure: Bool) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let response = ServerResponse(
            status: 200,
            body: .produced(length: nil) { stream in
                stream.write("one".utf8)
                for await _ in gate { stream.write("two".utf8) }
            }
        )
        try await self.withClient(isSecure: isSecure, response) { client async throws in
            #expect(try await client.responseHeadAndChunk().hasSuffix("one"))
            open.yield()
            #expect(try await client.nextChunk() == "two")
            open.finish()
            #expect(try await client.nextChunk() == nil)
        }
    }

    /// Nothing can be said within TLS that is not the library's.
    @Test func tooManyQueryParametersEndTheConnectionAtOnce() async throws {
        try await self.withSecureServer { server, file in
            let client = try RawConnection(securePort: server.port, trusting: file.certificate.file)
            let query = Array(repeating: "a", count: 1000).joined(separator: "&")
            try await client.send("GET /?\(query) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await client.readUntilEnd().bytes.isEmpty)
            try await self.expectService(server, file)
        }
    }

    @Test func aResetReachesTheClientAsOne() async throws {
        try await self.withSecureServer({ request in
            request.path == "/a" ? await Self.echo(request) : ServerResponse(status: 200, body: .reset)
        }) { server, file in
            let transport = try self.makeTransport(trusting: file)
            let error = await #expect(throws: HTTPTransportError.self) {
                try await transport.send(HTTPRequest(.get, url: "https://127.0.0.1:\(server.port)/reset"))
            }
            #expect(error?.code == .connectionLost)
            await transport.shutdown()
            try await self.expectService(server, file)
        }
    }

    @Test(arguments: [true, false]) func anAbortedBodyIsSeenAsCutOff(isSecure: Bool) async throws {
        let response = ServerResponse(
            status: 200,
            body: .produced(length: 10) { stream in
                stream.write("half".utf8)
                stream.abort()
            }
        )
        try await self.withClient(isSecure: isSecure, response) { client async throws in
            let text = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            #expect(text.contains("Content-Length: 10\r\n") && text.hasSuffix("\r\n\r\nhalf"))
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",  // a client that has not heard of TLS
        "\u{16}\u{03}\u{01}\u{00}\u{05}hello", "\u{16}\u{03}\u{01}\u{7F}\u{7F}", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
    ])
    func whatIsNoHandshakeDisturbsNobodyElse(garbage: String) async throws {
        try await self.withSecureServer(limits: .impatient) { server, file in
            let client = try RawConnection(port: server.port)
            try? await client.send(garbage)
            _ = await client.readUntilEnd()  // ends, though the client would wait for ever
            try await self.expectService(server, file)
            #expect(await server.becomesEmpty())
        }
    }

    @Test func randomBytesDisturbNobodyElse() async throws {
        try await self.withSecureServer(limits: .impatient) { server, file in
            var random = SeededRandomness(seed: 2)
            for _ in 0..<100 {
                let client = try RawConnection(port: server.port)
                // Half of them begin like a handshake.
                let beginning: [UInt8] = Bool.random(using: &random) ? [0x16, 0x03, 0x01] : []
                try? await client.send(beginning + random.bytes(Int.random(in: 1...600, using: &random)))
                client.finishSending()
                _ = await client.readUntilEnd()
            }
            try await self.expectService(server, file)
            #expect(await server.becomesEmpty())
        }
    }

    @Test func aHandshakeThatTricklesIsCutOff() async throws {
        try await self.withSecureServer(limits: altered(.init()) { $0.patience = .seconds(1) }) { server, _ in
            let client = try RawConnection(port: server.port)
            try await client.send([0x16, 0x03, 0x01, 0x3F, 0x00])
            _ = await client.trickleUntilEnd()
            #expect(await server.becomesEmpty())
        }
    }

    @Test func aThousandConnectionsAreServedAtOnce() async throws {
        raiseDescriptorLimit()
        let arrived = Mutex(0)
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let everybody = Task { for await _ in gate {} }
        var limits = HTTPServer.Limits()
        limits.patience = .seconds(300)  // two thousand halves of handshakes take their time on a small machine
        @Sendable func respond(_ request: ReceivedRequest) async -> ServerResponse {
            // Nobody is answered before all are there.
            let count = arrived.withLock { count in
                count += 1
                return count
            }
            if count == 1000 { open.finish() }
            await everybody.value
            return ServerResponse(status: 204, body: .bytes([]))
        }
        try await self.withSecureServer(limits: limits, respond) { server, file in
            let transport = try self.makeTransport(trusting: file, connections: 1000)
            let request = HTTPRequest(.get, url: "https://127.0.0.1:\(server.port)/")
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1000 { group.addTask { try await transport.send(request).status } }
                for try await status in group { #expect(status == 204) }
            }
            await transport.shutdown()
        }
    }

    @Test func stoppingEndsEveryConnectionWhateverItsState() async throws {
        let certificate = try SelfSignedCertificate.server(boundTo: "127.0.0.1", key: .generate())
        let file = try CertificateFile(certificate)
        let server = try HTTPServer(host: "127.0.0.1", port: 0, certificate: certificate)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let service = Task {
            await server.run { request in
                arrived.yield()
                if request.path == "/never" { await waitForCancellation() }
                return await Self.echo(request)
            }
        }
        let waiting = try RawConnection(securePort: server.port, trusting: file.certificate.file)
        try await waiting.send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
        let idle = try RawConnection(securePort: server.port, trusting: file.certificate.file)
        try await idle.send(Self.request)
        #expect(try await idle.response().status == 200)
        let silent = try RawConnection(port: server.port)
        let inHandshake = try RawConnection(port: server.port)
        try await inHandshake.send([0x16, 0x03, 0x01])
        var iterator = arrivals.makeAsyncIterator()
        for _ in 0..<2 { await iterator.next() }

        await service.stop()
        for client in [waiting, idle, silent, inHandshake] { _ = await client.readUntilEnd() }
        #expect(server.connectionCount == 0)
    }

    // MARK: Certificate

    @Test func theCertificateIsForTheAddressesOfTheServer() async throws {
        func names(boundTo host: String) async throws -> Set<String> {
            let file = try CertificateFile(.server(boundTo: host, key: .generate()))
            let text = try await openssl(["x509", "-in", file.certificate.file, "-noout", "-ext", "subjectAltName"])
            let names = text.split(separator: "\n").last?.split(separator: ",") ?? []
            return Set(names.map { $0.trimmingCharacters(in: .whitespaces) })
        }
        let loopback: Set<String> = ["DNS:localhost", "IP Address:127.0.0.1", "IP Address:0:0:0:0:0:0:0:1"]
        #expect(try await names(boundTo: "127.0.0.1") == loopback)
        #expect(try await names(boundTo: "::1") == loopback)
        #expect(try await names(boundTo: "localhost") == loopback)
        #expect(try await names(boundTo: "192.0.2.7") == loopback.union(["IP Address:192.0.2.7"]))
        let everywhere = Set(InterfaceAddresses.all)
        #expect(everywhere.contains("127.0.0.1"))
        let all = try await names(boundTo: "0.0.0.0")
        #expect(all.isSuperset(of: loopback))
        #expect(all.isSuperset(of: everywhere.filter { !$0.contains(":") }.map { "IP Address:\($0)" }))
    }

    @Test func theCertificateStandsUpToAStrictLook() async throws {
        let file = try CertificateFile(.server(boundTo: "127.0.0.1", key: .generate()))
        let path = file.certificate.file
        let purpose = ["-purpose", "sslserver", "-verify_ip", "127.0.0.1"]
        #expect(try await openssl(["verify", "-x509_strict"] + purpose + ["-CAfile", path, path]) == "\(path): OK\n")
        let text = try await openssl(["x509", "-in", path, "-noout", "-text"])
        for part in [
            "Version: 3", "CA:FALSE", "Digital Signature", "TLS Web Server", "ecdsa-with-SHA256", "prime256v1",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        // Valid now, though a clock may be behind, and not for ever.
        #expect(try await openssl(["x509", "-in", path, "-noout", "-checkend", "31000000"]).contains("not expire"))
        #expect(throws: Never.self) { try FileManager.default.attributesOfItem(atPath: path) }
    }

    @Test func thePinIsTheHashOfThePublicKey() async throws {
        let file = try CertificateFile(.server(boundTo: "127.0.0.1", key: .generate()))
        let command = "openssl x509 -pubkey -noout -in \(file.certificate.file) | openssl pkey -pubin -outform der"
        let hash = try await run("/bin/sh", ["-c", "\(command) | openssl dgst -sha256 -binary | openssl base64"])
        #expect(file.certificate.publicKeyPin + "\n" == "sha256//" + hash)
    }

    @Test func theFileIsGoneWithItsObject() throws {
        var file: CertificateFile? = try CertificateFile(.server(boundTo: "127.0.0.1", key: .generate()))
        let certificate = try #require(file?.certificate)
        #expect(try String(contentsOfFile: certificate.file, encoding: .utf8) == certificate.pem)
        file = nil
        #expect(!FileManager.default.fileExists(atPath: certificate.file))
    }
}

/// Returns the output of the `openssl` command.
private func openssl(_ words: [String]) async throws -> String { try await run("/usr/bin/env", ["openssl"] + words) }

private func run(_ program: String, _ words: [String]) async throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: program)
    process.arguments = words
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return await withCheckedContinuation { done in
        Thread.detachNewThread {
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            done.resume(returning: String(decoding: data, as: UTF8.self))
        }
    }
}
