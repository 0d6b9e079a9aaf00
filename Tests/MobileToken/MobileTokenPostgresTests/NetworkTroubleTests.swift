import MobileTokenTesting
import PostgresTestServer
import TestSupport
import Testing

/// Three processes that approve together, each in a network namespace of its own, and what networks do: to the connections to the
/// database and to those to the bank, by the kernel and not by a proxy that is told of it.
@Suite(
    .timeLimit(.minutes(6)),
    .ifPostgresIsInstalled,
    .enabled("this machine allows no network namespaces: root may make them, where the kernel and `tc` can") {
        await StarNetwork.isPossible
    }
)
struct NetworkTroubleTests {
    @Test func whatIsOfferedIsApprovedOnceWhateverTheNetworkDoes() async throws {
        let server = try await PostgresTestServer.start(.init(isDurable: true))
        let network = try await StarNetwork(machineCount: 3)
        let machines = network.machines
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let stage = try await Stage(emulator, nodes, customerCount: 30, network: network)
                try await stage.offer("a link that loses packets, and a narrow one") {
                    try await machines[0].losePackets(oneIn: 20)
                    try await machines[1].narrow()
                }
                // Nodes never fall silent, so both happen sooner or later.
                try await until { try await machines[0].trouble().lost > 0 }
                try await until { try await machines[1].trouble().waits > 0 }
                try await machines[0].losePacketsNoMore()
                try await machines[1].widen()

                try await stage.offer("a link that is cut") { try await machines[2].cut() }
                try await until { try await !stage.namesOfNodes().contains("node 2") }
                try await machines[2].mend()
                try await until { try await stage.namesOfNodes().contains("node 2") }

                try await stage.offer("a switch that is off for longer than a lifetime") {
                    for machine in machines { try await machine.cut() }
                    try await until { try await stage.namesOfNodes().isEmpty }
                    for machine in machines { try await machine.mend() }
                }
                try await stage.check()
            }
        }
    }
}
