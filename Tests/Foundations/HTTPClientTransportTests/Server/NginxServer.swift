import Foundation
import Glibc
import HTTPClientTransport
import TestSupport

/// nginx with TLS and HTTP/2 on loopback, in front of a server that does what its script says.
final class NginxServer: Sendable {
    static let isInstalled = FileManager.default.fileExists(atPath: program)
    private static let program = "/usr/sbin/nginx"

    /// The address of what the script answers.
    let url: String
    let certificate: Shared<Certificate>
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// Starts nginx, and returns once it listens.
    ///
    /// - Parameters:
    ///   - upstream: The server that requests are passed on to, each on a connection of its own, except those below
    ///     `/large` and `/wide`.
    ///   - streams: The number of requests that nginx takes at once on a connection.
    init(upstream: ScriptedServer, streams: Int = 256) async throws {
        let certificate = try await Certificate()
        let folder = try TemporaryFolder()
        // Free until now: nginx takes no port of the system's choice.
        let (descriptor, port) = try ScriptedServer.listen(backlog: nil)
        close(descriptor)
        let large = String(repeating: "0123456789abcdef", count: 1 << 16)
        try large.write(toFile: folder.file("large"), atomically: true, encoding: .utf8)
        let configuration = Self.configuration(folder, port, upstream.port, streams)
        try configuration.write(toFile: folder.file("nginx.conf"), atomically: true, encoding: .utf8)
        try Self.install(certificate, in: folder)
        (self.folder, self.certificate) = (folder, Shared(certificate))
        self.process = try ChildProcess(Self.program, ["-p", folder.path, "-e", "error.log", "-c", "nginx.conf"])
        self.url = "https://127.0.0.1:\(port)/"
        try await self.waitUntilItListens()
    }

    private static func configuration(
        _ folder: TemporaryFolder,
        _ port: UInt16,
        _ upstreamPort: UInt16,
        _ streams: Int
    ) -> String {
        """
        daemon off;
        master_process off;
        pid nginx.pid;
        \(geteuid() == 0 ? "user root;" : "")
        events { worker_connections 2048; }
        http {
            log_format exchange '$connection $server_protocol $status $request_uri';
            access_log access.log exchange;
            # With a variable in its name the file is read at each handshake.
            map $ssl_server_name $shown { default \(folder.path)/shown.pem; }
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port) ssl http2 backlog=1024;
                ssl_certificate $shown;
                ssl_certificate_key $shown;
                http2_max_concurrent_streams \(streams);
                location / { proxy_pass http://127.0.0.1:\(upstreamPort); proxy_read_timeout 600;
                    proxy_buffering off; }
                location = /large { alias \(folder.path)/large; }
                location = /wide { add_header X-Wide "\(String(repeating: "w", count: 3_000))"; return 200; }
                location = /ready { return 204; }
            }
        }
        """
    }

    /// In one step, so that no handshake finds a certificate and the key of another.
    private static func install(_ certificate: Certificate, in folder: TemporaryFolder) throws {
        let parts = try [certificate.file, certificate.keyFile].map { try String(contentsOfFile: $0, encoding: .utf8) }
        try parts.joined().write(toFile: folder.file("shown.pem"), atomically: true, encoding: .utf8)
    }

    /// Shows another certificate to those who connect from now on. Connections stay.
    func replaceCertificate(with certificate: Certificate) throws {
        try Self.install(certificate, in: self.folder)
        self.certificate.value = certificate
    }

    private func waitUntilItListens() async throws {
        let transport = try self.transport()
        await until { (try? await transport.send(HTTPRequest(.get, url: self.url + "ready")))?.status == 204 }
        await transport.shutdown()
    }

    func transport(_ change: (inout CurlTransport.Configuration) -> Void = { _ in }) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.maximumRequestsPerHost = 256
        configuration.tls.validation = .certificateAuthority(file: self.certificate.value.file)
        change(&configuration)
        return try CurlTransport(configuration: configuration)
    }

    struct Exchange {
        let connection: String
        let version: String
        let status: Int
        let path: String
    }

    /// The exchanges that have ended so far, without the probes of readiness.
    var exchanges: [Exchange] {
        let log = (try? String(contentsOfFile: self.folder.file("access.log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map { String($0) }
            guard words.count == 4, let status = Int(words[2]), words[3] != "/ready" else { return nil }
            return Exchange(connection: words[0], version: words[1], status: status, path: words[3])
        }
    }
}
