import Foundation
import Glibc
import TestSupport

/// A PostgreSQL server of a test's own, in a folder of its own: to be killed, stopped, filled and restored.
///
/// PostgreSQL refuses to run as root, so for root it runs as the user that the Debian package made. The folder and the server
/// go with their owner, and also when the tests are killed: a janitor holds a pipe that ends with them.
package final class PostgresTestServer: Sendable {
    package struct Options: Sendable {
        /// Lines of `postgresql.conf`, over those that make a test quick.
        package var settings: [String] = []
        /// `true` if a commit is on the disk when it returns, as it is where durability is the point.
        package var isDurable = false

        package init(settings: [String] = [], isDurable: Bool = false) {
            self.settings = settings
            self.isDurable = isDurable
        }
    }

    /// The folder of the socket, the log and the data.
    package let folder: String
    package let port: Int
    private let janitor: ChildProcess

    private init(folder: String, port: Int, janitor: ChildProcess) {
        self.folder = folder
        self.port = port
        self.janitor = janitor
    }

    package static let isInstalled = PostgresTestServer.programs != nil

    /// The folder of the server's programs; `nil` when there is none.
    package static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let newestFirst = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        return newestFirst.lazy.map { "/usr/lib/postgresql/\($0)/bin" }.first {
            FileManager.default.isExecutableFile(atPath: $0 + "/initdb")
        }
    }()

    /// A server that tests may share which do it no harm.
    package static func shared() async throws -> PostgresTestServer { try await self.sharedServer.value }
    private static let sharedServer = Task { try await PostgresTestServer.start() }

    package static func start(_ options: Options = Options()) async throws -> PostgresTestServer {
        let server = try await self.make()
        try await self.run("cp", ["-a", try await self.template.value.folder + "/data", server.folder + "/data"])
        var settings = [
            "listen_addresses = '127.0.0.1'", "port = \(server.port)", "unix_socket_directories = '\(server.folder)'",
            "shared_buffers = '16MB'", "max_connections = 50", "logging_collector = off", "autovacuum_naptime = 1",
        ]
        if !options.isDurable { settings += ["fsync = off"] }
        settings += options.settings
        try await server.write(settings, to: "postgresql.conf")
        try await server.start()
        return server
    }

    /// Made once, and copied: to copy is quicker.
    private static let template = Task {
        let server = try await PostgresTestServer.make()
        try await PostgresTestServer.run(
            (PostgresTestServer.programs ?? "") + "/initdb",
            ["-D", server.folder + "/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        )
        return server
    }

    private static func make() async throws -> PostgresTestServer {
        let folder = try await self.run("mktemp", ["-d", "/tmp/mobile-token-postgres-XXXXXX"]).lines.first ?? ""
        guard folder.hasPrefix("/tmp/mobile-token-postgres-") else { throw Failure("there is no temporary folder") }
        // It must outlive the process that starts it, which is killed with its owner.
        let script = """
            exec 3<&0
            ( cat <&3 >/dev/null
              pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) &&
              kill -CONT $pid $(cat /proc/$pid/task/$pid/children 2>/dev/null) &&
              "$2/pg_ctl" -D "$1/data" -m immediate -t 10 stop
              rm -rf "$1" ) >/dev/null 2>&1 &
            """
        let words = self.unprivileged + ["sh", "-c", script, "janitor", folder, self.programs ?? ""]
        let janitor = try ChildProcess(words[0], Array(words.dropFirst()))
        return PostgresTestServer(folder: folder, port: try LoopbackSocket.freePort(), janitor: janitor)
    }

    // MARK: What a test does to it

    /// A connection string, as the superuser.
    ///
    /// - Parameter overTCP: `true` to connect through the loopback interface, not through a socket in the folder.
    package func connectionString(overTCP: Bool = false) -> String {
        "host=\(overTCP ? "127.0.0.1" : self.folder) port=\(self.port) user=postgres dbname=postgres"
    }

    /// A connection string, as the superuser, that leads through a proxy.
    ///
    /// - Parameter host: The address at which the proxy is found.
    package func connectionString(through proxy: FaultProxy, at host: String = "127.0.0.1") -> String {
        "host=\(host) port=\(proxy.port) user=postgres dbname=postgres"
    }

    package func start() async throws {
        try await self.control(["-w", "-t", "60", "-l", self.folder + "/log", "start"])
    }

    /// Ends it in the middle of whatever it does; what was not committed is gone, as after a crash.
    package func crash() async throws { try await self.control(["-m", "immediate", "-w", "stop"]) }

    /// Ends it as an administrator would who does not wait for anybody.
    package func stop() async throws { try await self.control(["-m", "fast", "-w", "stop"]) }

    /// Reads the configuration again.
    package func reload(_ settings: [String]) async throws {
        try await self.write(settings, to: "postgresql.auto.conf")
        try await self.control(["reload"])
    }

    /// Freezes all its processes: connections stand, and nothing moves.
    package func freeze() throws {
        // The first process first, or it would start others.
        for process in try self.processes() { kill(process, SIGSTOP) }
    }

    package func thaw() throws {
        for process in try self.processes() { kill(process, SIGCONT) }
    }

    /// Copies all data while it does not run.
    package func backUp(to name: String) async throws {
        try await Self.run("cp", ["-a", self.folder + "/data", self.folder + "/" + name])
    }

    /// Puts a copy in the place of the data while it does not run.
    package func restore(_ name: String) async throws {
        try await Self.run("rm", ["-rf", self.folder + "/data"])
        try await Self.run("cp", ["-a", self.folder + "/" + name, self.folder + "/data"])
    }

    /// Starts it on another timeline, as a standby that takes the place of its server.
    package func promote() async throws {
        if try !self.isRunning { try await self.standBy() }
        try await self.control(["-w", "promote"])
    }

    /// Starts it as a standby, which can be read.
    package func standBy() async throws {
        try await self.write([], to: "standby.signal")
        try await self.start()
    }

    private var isRunning: Bool {
        get throws {
            // As a copy of a running server's data would have it, the file alone tells nothing.
            guard FileManager.default.fileExists(atPath: self.folder + "/data/postmaster.pid") else { return false }
            return try self.processes().first.map { kill($0, 0) == 0 } ?? false
        }
    }

    private func control(_ arguments: [String]) async throws {
        try await Self.run((Self.programs ?? "") + "/pg_ctl", ["-D", self.folder + "/data"] + arguments)
    }

    /// Writes lines to a file beside the data.
    func write(_ settings: [String], to file: String) async throws {
        let script = "cat > \"$1\""
        let words = Self.unprivileged + ["sh", "-c", script, "write", self.folder + "/data/" + file]
        let outcome = try await ChildProcess.run(
            words[0],
            Array(words.dropFirst()),
            input: settings.joined(separator: "\n") + "\n"
        )
        guard outcome.exitCode == 0 else { throw Failure(outcome.errors) }
    }

    /// Returns the processor time that all its processes have used so far.
    package func processorTime() throws -> Duration {
        let processes = try self.processes()
        let ticks = processes.reduce(0) { sum, process in
            // A process may have ended meanwhile: then the first one counts its time.
            guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let end = line.utf8.lastIndex(of: UInt8(ascii: ")"))
            else { return sum }
            // utime, stime; of the first process also those of its ended children. The state comes first after the name.
            let fields = line[end...].split(separator: " ").dropFirst(12)
            return sum + fields.prefix(process == processes.first ? 4 : 2).compactMap { Int($0) }.reduce(0, +)
        }
        return .seconds(1) * ticks / sysconf(Int32(_SC_CLK_TCK))
    }

    private func processes() throws -> [pid_t] {
        let file = try String(contentsOfFile: self.folder + "/data/postmaster.pid", encoding: .utf8)
        guard let first = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else { throw Failure("no process") }
        let children = try String(contentsOfFile: "/proc/\(first)/task/\(first)/children", encoding: .utf8)
        return [first] + children.split(separator: " ").compactMap { pid_t($0) }
    }

    // MARK: -

    private struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// The words before a command that must not run as root.
    static let unprivileged =
        geteuid() == 0
        ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] : ["env"]

    @discardableResult
    private static func run(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Outcome {
        let words = self.unprivileged + [program] + arguments
        let outcome = try await ChildProcess.run(words[0], Array(words.dropFirst()))
        guard outcome.exitCode == 0 else { throw Failure("\(program): \(outcome.errors)\(outcome.output)") }
        return outcome
    }
}
