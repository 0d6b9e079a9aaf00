import MobileTokenApprovals
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    ApprovalRequest.Action.self, ApprovalDesk.Approval.self, ApprovalDesk.self, ApprovalError.self,
    ApprovalError.Performance.self,
    ApprovalEvent.self,
    ApprovalLedger.self, ApprovalRequest.self, ApprovalRequest.Acceptance.self, ApprovalRequest.Cancellation.self,
    ApprovalState.self, ApprovalTemplate.self, ApprovalTicket.self, Approvers.self, Approvers.RejectionRule.self,
    ApprovalTicket.Decision.self, ApprovalRequest.Parameter.self, Approvers.Person.self, PersonalApproval.self,
    PersonalApproval.Evidence.self, ApprovalTicket.Settlement.self,
]

/// A deployer that acts on what two of three people approved.
func deploy(_ manifest: [UInt8], cloud: CloudClient) async throws -> Int {
    let desk = try await ApprovalDesk(
        audience: "billing/production",
        cloud: cloud,
        ledger: .sqlite(path: "approvals.sqlite", sealing: .file("approvals.key"))
    )
    let request = ApprovalRequest(
        id: "deploy-1234",
        from: .any(2, of: ["alice", "bob", "carol"]),
        template: ApprovalTemplate("deploy", signs: "A9*N${version}*R${binding}"),
        parameters: ["version": "4.2.1"],
        action: .bytes(manifest),
        expires: .seconds(300)
    )
    return try await desk.perform(request) { approval in approval.action.count }
}
