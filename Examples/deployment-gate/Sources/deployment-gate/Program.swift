import DeploymentGate
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenApprovals

/// The gate as a program.
///
///     deployment-gate deploy ID REQUESTER <deployment.json
///     deployment-gate tools SESSION APPROVER            # calls on standard input, answers on standard output
///
/// Its settings are environment variables: see README.md. Run it as a user of its own, who alone can read the credentials and write
/// to the folder.
@main
enum Program {
    static func main() async {
        do {
            try await self.run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("deployment-gate: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        guard words.count == 3, ["deploy", "tools"].contains(words[0]) else {
            throw Mistake("usage: deployment-gate deploy ID REQUESTER, or tools SESSION APPROVER")
        }
        let target = FolderTarget(folder: try self.setting("FOLDER"))
        let desk = try await self.desk()
        if words[0] == "deploy" {
            let team = try self.setting("TEAM").split(separator: ",").map { Approvers.Person(String($0)) }
            let input = [UInt8](FileHandle.standardInput.readDataToEndOfFile())
            let gate = DeploymentGate(desk: desk, team: team, target: target) { ticket in
                let people = ticket.fingerprints.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
                let line =
                    "deployment-gate: asked \(people.joined(separator: ", ")), until \(ticket.expires.formatted(.iso8601))\n"
                FileHandle.standardError.write(Data(line.utf8))
            }
            try await gate.deploy(
                Deployment(JSONValue(parsing: input)),
                id: words[1],
                requestedBy: Approvers.Person(words[2])
            )
        } else {
            let server = ToolServer(
                desk: desk,
                approver: Approvers.Person(words[2]),
                session: words[1],
                tools: [.deploy(to: target)]
            )
            while let line = readLine() { print(await server.answer(line)) }
        }
    }

    private static func desk() async throws -> ApprovalDesk {
        var transport = CurlTransport.Configuration()
        transport.maximumResponseSize = 1 << 20
        let url = try self.setting("CLOUD_URL")
        // The server of a test on this machine has no key to pin.
        if !url.hasPrefix("http://127.0.0.1:") { transport.tls.pinnedPublicKeys = [try self.setting("CLOUD_PIN")] }
        var configuration = CloudClient.Configuration()
        configuration.transport = try CurlTransport(configuration: transport)
        let cloud = try CloudClient(
            baseURL: url,
            credentials: .init(user: try self.setting("CLOUD_USER"), password: try self.setting("CLOUD_PASSWORD")),
            configuration: configuration
        )
        return try await ApprovalDesk(
            audience: try self.setting("AUDIENCE"),
            cloud: cloud,
            ledger: .sqlite(path: try self.setting("LEDGER"))
        )
    }

    private static func setting(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment["DEPLOYMENT_GATE_\(name)"], !value.isEmpty else {
            throw Mistake("DEPLOYMENT_GATE_\(name) is not set")
        }
        return value
    }
}

private struct Mistake: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
