import Foundation
import Glibc
import MobileTokenTesting
import PostgresTestServer
import TestSupport
import Testing

/// Three processes that approve together, and everything that may happen to them.
@Suite(.timeLimit(.minutes(Stage.customerCount > 300 ? 60 : 6)), .ifPostgresIsInstalled)
struct NodeTroubleTests {
    @Test func whatIsOfferedIsApprovedOnceWhateverHappens() async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let stage = try await Stage(emulator, nodes)
                try await stage.offer("calm") {}
                try await stage.offer("kill -9") {
                    stage.nodes[0].process?.send(signal: SIGKILL)
                    try await stage.nodes[0].start(stage)
                }
                try await stage.offer("SIGSTOP for longer than a lifetime") {
                    stage.nodes[1].process?.send(signal: SIGSTOP)
                }
                stage.nodes[1].process?.send(signal: SIGCONT)
                try await stage.offer("a machine that hears nothing") { stage.nodes[2].proxy.mode = .freeze }
                stage.nodes[2].proxy.mode = .pass
                stage.nodes[2].proxy.cut()
                try await stage.offer("replies that are lost") {
                    let proxy = stage.nodes[0].proxy
                    let (lost, connections) = (proxy.lostByteCount, proxy.connectionCount)
                    proxy.mode = .loseReplies
                    await until { proxy.lostByteCount > lost && proxy.connectionCount > connections }
                    proxy.mode = .pass
                    proxy.cut()
                }
                try await stage.offer("connections that are cut again and again") {
                    for _ in 0..<20 {
                        let connections = stage.nodes.map(\.proxy.connectionCount)
                        for node in stage.nodes { node.proxy.cut() }
                        await until { stage.nodes.map(\.proxy.connectionCount) != connections }
                    }
                }
                try await stage.offer("a database that crashes") {
                    try await server.crash()
                    try await server.start()
                }
                try await stage.offer("a database that is frozen") {
                    let connections = stage.nodes.map(\.proxy.connectionCount)
                    try server.freeze()
                    // Each node waits in vain, and tries another connection.
                    await until { zip(stage.nodes, connections).allSatisfy { $0.proxy.connectionCount > $1 } }
                    try server.thaw()
                }
                try await stage.check()
            }
        }
    }

    /// libpq asks for addresses in a way that blocks a thread. It must not be one that others wait for.
    @Test(.enabled(if: geteuid() == 0, "only root can give a process another name server"))
    func aNameThatIsNeverResolvedEndsInTime() async throws {
        let folder = try TemporaryFolder()
        let nameServer = try SilentNameServer()
        let file = folder.path + "/resolv.conf"
        try Data("nameserver \(SilentNameServer.address)\noptions timeout:30 attempts:5\n".utf8)
            .write(to: URL(filePath: file))
        let outcome = try await ChildProcess.run(
            "unshare",
            [
                "--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"", file,
                ChildProcess.besideTests("NodeExerciser"), "name=node", "database=host=db.example.com user=bot",
                "schema=bot", "marks=\(folder.path)", "url=https://bank.example.com", "sdk-configuration=",
            ],
            environment: ["SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": folder.path, "PATH": "/usr/bin:/bin"]
        )
        #expect(nameServer.wasAsked)
        #expect(outcome.lines.first?.contains("storeUnreachable") == true, "\(outcome)")
        #expect(outcome.exitCode == 1)
    }
}

/// Takes questions for addresses, and answers none.
private final class SilentNameServer {
    static let address = "127.0.0.77"
    private let descriptor: Int32

    init() throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        inet_pton(AF_INET, Self.address, &address.sin_addr)
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(self.descriptor) }

    var wasAsked: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) > 0
    }
}
