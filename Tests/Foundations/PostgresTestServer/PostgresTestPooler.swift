import Foundation
import TestSupport

/// A pooler before a server, which gives each transaction another session. It ends with its owner, or with the tests.
package final class PostgresTestPooler: Sendable {
    private static let program = "/usr/sbin/pgbouncer"
    package static let isInstalled =
        PostgresTestServer.isInstalled && FileManager.default.isExecutableFile(atPath: PostgresTestPooler.program)

    private let port: Int
    private let process: ChildProcess

    private init(port: Int, process: ChildProcess) {
        (self.port, self.process) = (port, process)
    }

    /// Starts one with so few sessions that its clients take turns.
    package static func start(before server: PostgresTestServer) async throws -> PostgresTestPooler {
        let port = try LoopbackSocket.freePort()
        let settings = [
            "[databases]", "* = host=\(server.folder) port=\(server.port) user=postgres",
            "[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = \(port)", "unix_socket_dir =",
            "auth_type = any", "pool_mode = transaction", "default_pool_size = 2", "max_client_conn = 100",
        ]
        try await server.write(settings, to: "pgbouncer.ini")
        // It must end as well when the tests are killed, which its input tells.
        let script = """
            exec 3<&0
            ( cat <&3 >/dev/null; kill -KILL $$ ) &
            exec "$1" "$2"
            """
        let words =
            PostgresTestServer.unprivileged
            + ["sh", "-c", script, "pooler", self.program, server.folder + "/data/pgbouncer.ini"]
        let process = try ChildProcess(words[0], Array(words.dropFirst()))
        var complaints: [String] = []
        while let line = await process.nextErrorLine() {
            guard !line.contains("process up") else { return PostgresTestPooler(port: port, process: process) }
            complaints.append(line)
        }
        throw Failure(description: complaints.joined(separator: "\n"))
    }

    private struct Failure: Error { let description: String }

    package var connectionString: String { "host=127.0.0.1 port=\(self.port) user=postgres dbname=postgres" }
}
