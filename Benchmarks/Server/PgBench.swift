import Foundation
import PostgresTestServer

/// PostgreSQL's own load generator: what a statement costs without us.
struct PgBench {
    struct Failed: Error {}

    let server: PostgresTestServer
    /// The statements of one transaction, which may name `:client_id`.
    let script: String

    /// Returns how often the script runs in a second, on so many connections, each statement prepared.
    ///
    /// - Parameter count: The number of runs of the script. A duration would not do: the alarm that would end it is
    ///   blocked in our children.
    func rate(clients: Int, count: Int) throws -> Double {
        let file = FileManager.default.temporaryDirectory.appending(path: "pgbench-\(UUID().uuidString)")
        try Data(self.script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: try unwrap(PostgresTestServer.programs) + "/pgbench")
        process.arguments = [
            "--no-vacuum", "--protocol=prepared", "--client=\(clients)", "--jobs=\(min(2, clients))",
            "--transactions=\(max(1, count / clients))", "--file=\(file.path)", "--host=\(self.server.folder)",
            "--port=\(self.server.port)", "--username=postgres", "postgres",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.contains("tps = ") }
        guard let rate = line?.split(separator: " ").compactMap({ Double($0) }).first else { throw Failed() }
        return rate
    }
}
