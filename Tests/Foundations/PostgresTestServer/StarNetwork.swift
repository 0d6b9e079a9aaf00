import Foundation
import Glibc

/// A hub, and machines with a link of their own to it, each in a namespace of its own: for the kernel to cut, to lose packets,
/// and to be slow.
package final class StarNetwork: Sendable {
    package let hub: NetworkNamespace
    package let machines: [Machine]

    package init(machineCount: Int) async throws {
        let hub = try await NetworkNamespace()
        var machines: [Machine] = []
        for number in 0..<machineCount { machines.append(try await Machine(number, hub)) }
        (self.hub, self.machines) = (hub, machines)
    }

    /// `true` if this machine allows it: the user must be root, with the right to make namespaces, and the kernel must have the
    /// modules for the faults.
    package static var isPossible: Bool { get async { await self.trial.value } }

    private static let trial = Task {
        guard geteuid() == 0 else { return false }
        do {
            let network = try await StarNetwork(machineCount: 1)
            try await network.machines[0].losePackets(oneIn: 2)
            try await network.machines[0].narrow()
            return try network.hub.perform { true }
        } catch {
            print("There are no networks of a test's own here: \(error)")
            return false
        }
    }
}

extension StarNetwork {
    package final class Machine: Sendable {
        package let namespace: NetworkNamespace
        package let hubAddress: String
        private let hub: NetworkNamespace
        /// The hub's end of the link.
        private let link: String

        fileprivate init(_ number: Int, _ hub: NetworkNamespace) async throws {
            self.namespace = try await NetworkNamespace()
            self.hub = hub
            self.link = "link\(number)"
            self.hubAddress = "10.0.\(number).1"
            try await hub.run(
                [
                    "ip", "link", "add", self.link, "type", "veth", "peer", "name", "uplink", "netns",
                    self.namespace.path,
                ]
            )
            try await hub.run(["ip", "address", "add", "\(self.hubAddress)/24", "dev", self.link])
            try await self.namespace.run(["ip", "address", "add", "10.0.\(number).2/24", "dev", "uplink"])
            try await self.namespace.run(["ip", "link", "set", "dev", "uplink", "up"])
            try await self.mend()
        }

        /// Pulls the plug. Nobody is told: what is sent is lost, and connections stand as they are.
        package func cut() async throws { try await self.hub.run(["ip", "link", "set", "dev", self.link, "down"]) }

        /// Puts the plug back.
        package func mend() async throws { try await self.hub.run(["ip", "link", "set", "dev", self.link, "up"]) }

        /// Loses packets at random from now on, in either direction.
        package func losePackets(oneIn share: UInt32) async throws {
            // As `tcpdump -ddd` would write it; few kernels are built without this, and many without `netem`:
            //     ld rand; jgt #(2³² / share), 3; ret #TC_ACT_SHOT; 3: ret #TC_ACT_UNSPEC
            let program = "4,32 0 0 4294963256,37 1 0 \(UInt32.max / share),6 0 0 2,6 0 0 4294967295"
            try await self.hub.run(["tc", "qdisc", "add", "dev", self.link, "clsact"])
            for direction in ["ingress", "egress"] {
                try await self.hub.run(
                    ["tc", "filter", "add", "dev", self.link, direction, "bpf", "direct-action", "bytecode", program]
                )
            }
        }

        package func losePacketsNoMore() async throws {
            try await self.hub.run(["tc", "qdisc", "delete", "dev", self.link, "clsact"])
        }

        /// Lets packets wait for each other from now on, in either direction, as on a line of half a megabit a second.
        package func narrow() async throws {
            let line = ["root", "tbf", "rate", "512kbit", "burst", "2kb", "limit", "64kb"]
            try await self.hub.run(["tc", "qdisc", "add", "dev", self.link] + line)
            try await self.namespace.run(["tc", "qdisc", "add", "dev", "uplink"] + line)
        }

        /// Packets wait for each other no more.
        package func widen() async throws {
            try await self.hub.run(["tc", "qdisc", "delete", "dev", self.link, "root"])
            try await self.namespace.run(["tc", "qdisc", "delete", "dev", "uplink", "root"])
        }

        /// The packets lost and delayed since the faults began.
        package struct Trouble: Sendable {
            package var lost = 0
            /// The number of times that a packet had to wait.
            package var waits = 0
        }

        package func trouble() async throws -> Trouble {
            struct Queue: Decodable {
                let kind: String
                let drops: Int
                let overlimits: Int
            }
            let output = try await self.hub.run(["tc", "-statistics", "-json", "qdisc", "show", "dev", self.link])
            var trouble = Trouble()
            for queue in try JSONDecoder().decode([Queue].self, from: Data(output)) {
                if queue.kind == "clsact" { trouble.lost += queue.drops }
                trouble.waits += queue.overlimits
            }
            return trouble
        }
    }
}
