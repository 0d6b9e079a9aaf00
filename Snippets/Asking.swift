// Asks for an approval, and acts once on it; a gate in front of what an AI agent may call; a test of both.
import ExactJSON
import Foundation
import MobileTokenApprovals
import MobileTokenTesting

// snippet.hide
func apply(_ manifest: [UInt8]) async throws {}

func deploying(cloud: CloudClient, manifest: [UInt8]) async throws {
    // snippet.show
    let deploy = ApprovalTemplate("deploy", signs: "A9*T${service}*N${version}*R${binding}")
    let desk = try await ApprovalDesk(
        audience: "billing/production",
        cloud: cloud,
        ledger: .sqlite(path: "/var/lib/deployer/approvals.sqlite")
    )
    let request = ApprovalRequest(
        id: "deploy-1234",
        from: .user("alice"),
        template: deploy,
        parameters: ["service": "billing", "version": "4.2.1"],
        action: .bytes(manifest),
        expires: .seconds(300)
    )
    try await desk.perform(request) { approval in try await apply(approval.action) }
    // snippet.hide
}

// snippet.show
/// The server of an agent's tools. The agent holds no credential: what it calls is asked for here, and done here.
struct Gate {
    let desk: ApprovalDesk
    let call = ApprovalTemplate("tool-call", signs: "A9*T${tool}*R${binding}")

    func run(_ tool: String, _ arguments: JSONValue, callID: String, for user: String) async throws -> String {
        let request = ApprovalRequest(
            id: callID,
            from: .user(user),
            template: self.call,
            parameters: ["tool": .ascii(tool)],
            action: try .json(arguments),
            expires: .seconds(120)
        )
        do {
            return try await self.desk.perform(request) { approval in try await execute(tool, approval.action) }
        } catch let error as ApprovalError where error.code == .rejected {
            return "A person said no. Do not ask again."
        }
    }
}

// snippet.hide
func execute(_ tool: String, _ arguments: [UInt8]) async throws -> String { "" }

func testing(request: ApprovalRequest) async throws {
    // snippet.show
    let clock = ManualClock()
    let desk = try await ApprovalDesk.scripted(["alice": .approves(after: .seconds(3))], clock: clock)
    async let action = desk.perform(request) { approval in approval.action }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(5))
    print(try await action)
    // snippet.hide
}

func believing(request: inout ApprovalRequest) throws {
    // snippet.show
    let key = try DeviceKey.PublicKey(pem: String(contentsOfFile: "/etc/deployer/alice.pem", encoding: .utf8))
    request.deviceKeys = ["alice": [key]]
    // snippet.hide
}

func several(team: [Approvers.Person], requester: Approvers.Person) -> Approvers {
    // snippet.show
    let approvers = Approvers.any(2, of: team).excluding(requester)
    // snippet.hide
    return approvers
}
