import TestSupport
import Foundation
import HTTPClientTransport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    private func send(
        to server: TLSServer,
        _ change: (inout CurlTransport.TLS) -> Void
    ) async throws -> Result<Int, HTTPTransportError> {
        var configuration = CurlTransport.Configuration()
        change(&configuration.tls)
        let transport = try CurlTransport(configuration: configuration)
        defer { _ = transport }
        do {
            let status = try await transport.send(HTTPRequest(.get, url: server.url)).status
            await transport.shutdown()
            return .success(status)
        } catch let error as HTTPTransportError {
            await transport.shutdown()
            return .failure(error)
        }
    }

    private func isRefusal(_ result: Result<Int, HTTPTransportError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error.code == .tlsFailed
    }

    @Test func anUnknownAuthorityIsRefused() async throws {
        let server = try await TLSServer()
        let result = try await self.send(to: server) { _ in }
        #expect(self.isRefusal(result))
    }

    @Test func aNamedAuthorityIsAccepted() async throws {
        let server = try await TLSServer()
        let result = try await self.send(to: server) {
            $0.validation = .certificateAuthority(file: server.certificate.file)
        }
        #expect(result == .success(200))
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
        let server = try await TLSServer(certificate: Certificate(names: "DNS:elsewhere.example.com"))
        let result = try await self.send(to: server) {
            $0.validation = .certificateAuthority(file: server.certificate.file)
        }
        #expect(self.isRefusal(result))
    }

    @Test func withoutValidationAnythingIsAccepted() async throws {
        let server = try await TLSServer(certificate: Certificate(names: "DNS:elsewhere.example.com"))
        #expect(try await self.send(to: server) { $0.validation = .noValidation } == .success(200))
    }

    @Test(arguments: [true, false])
    func aPinAcceptsItsKeyAndNoOther(isValidated: Bool) async throws {
        let server = try await TLSServer()
        let other = try await Certificate()
        func validation(_ tls: inout CurlTransport.TLS) {
            tls.validation = isValidated ? .certificateAuthority(file: server.certificate.file) : .noValidation
        }
        let right = try await self.send(to: server) {
            validation(&$0)
            $0.pinnedPublicKeys = [other.pin, server.certificate.pin]
        }
        #expect(right == .success(200))
        let wrong = try await self.send(to: server) {
            validation(&$0)
            $0.pinnedPublicKeys = [other.pin]
        }
        #expect(self.isRefusal(wrong))
    }

    @Test func aClientCertificateIsShownWhenDemanded() async throws {
        let client = try await Certificate(password: "hunter2")
        let server = try await TLSServer(arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", client.file])
        let without = try await self.send(to: server) { $0.validation = .noValidation }
        guard case .failure(let error) = without else {
            Issue.record("the server took a client without a certificate")
            return
        }
        #expect(error.code == .tlsFailed || error.code == .connectionLost)  // TLS 1.3 refuses after the handshake
        let with = try await self.send(to: server) {
            $0.validation = .noValidation
            $0.clientCertificate = .init(
                certificateFile: client.file,
                privateKeyFile: client.keyFile,
                password: "hunter2"
            )
        }
        #expect(with == .success(200))
    }

    @Test func aServerThatSpeaksNoTLSIsRefused() async throws {
        let server = try ScriptedServer { connection in
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try CurlTransport()
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(.get, url: "https://127.0.0.1:\(server.port)/"))
        }
        #expect(error?.code == .tlsFailed)
        await transport.shutdown()
    }
}

/// A certificate and its key, thrown away with the object.
final class Certificate: Sendable {
    let file: String
    let keyFile: String
    let pin: String
    private let directory: URL

    /// Makes a certificate that is valid for two days, and signed by itself.
    ///
    /// - Parameters:
    ///   - authority: The certificate that signs it in place of itself.
    ///   - days: The number of days for which the authority's signature is valid; less than 0 when it is over.
    init(
        names: String = "IP:127.0.0.1",
        password: String? = nil,
        issuedBy authority: Certificate? = nil,
        days: Int = 2
    ) async throws {
        self.directory = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        self.file = self.directory.appending(path: "certificate.pem").path
        self.keyFile = self.directory.appending(path: "key.pem").path
        let request = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=\(names)", "-out", self.file, "-keyout", self.keyFile,
        ]
        let protection = password.map { ["-passout", "pass:\($0)"] } ?? ["-nodes"]
        try await run("openssl", request + protection)
        if let authority {
            let signing = self.directory.appending(path: "request.pem").path
            let subject = ["-subj", "/CN=server", "-addext", "subjectAltName=\(names)"]
            try await run("openssl", ["req", "-new", "-key", self.keyFile, "-out", signing] + subject)
            let issuer = ["-CA", authority.file, "-CAkey", authority.keyFile, "-days", "\(days)"]
            let options = ["x509", "-req", "-in", signing, "-out", self.file, "-copy_extensions", "copyall"]
            try await run("openssl", options + issuer)
        }
        let digest = "openssl x509 -in '\(self.file)' -pubkey -noout | openssl pkey -pubin -outform der"
        let hash = try await run("sh", ["-c", "\(digest) | openssl dgst -sha256 -binary | base64"])
        self.pin = "sha256//" + String(decoding: hash, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    deinit { try? FileManager.default.removeItem(at: self.directory) }
}

/// `openssl s_server`, which answers every GET with a page about the connection.
final class TLSServer: Sendable {
    let certificate: Certificate
    let url: String
    private let process: ChildProcess

    init(certificate given: Certificate? = nil, arguments: [String] = []) async throws {
        let certificate = if let given { given } else { try await Certificate() }
        let process = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificate.file, "-key", certificate.keyFile]
                + arguments
        )
        // "ACCEPT 127.0.0.1:40123" is the line that says that it listens.
        var line = ""
        while !line.hasPrefix("ACCEPT") { line = try #require(await process.nextLine(), "openssl s_server ended") }
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        self.certificate = certificate
        self.process = process
        self.url = "https://127.0.0.1:\(port)/"
    }
}
