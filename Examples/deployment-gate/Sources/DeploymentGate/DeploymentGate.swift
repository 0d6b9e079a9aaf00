public import MobileTokenApprovals

/// Deploys what two people of a team have approved, neither of them the one who wants it.
public struct DeploymentGate: Sendable {
    /// The template, which the server needs with the same form. What a person has to judge stands in it in clear.
    public static let template = ApprovalTemplate("deploy", signs: "A9*T${service}*N${version}*R${binding}")

    private let desk: ApprovalDesk
    private let team: [Approvers.Person]
    private let target: any DeploymentTarget
    private let announce: @Sendable (ApprovalTicket) -> Void

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - desk: The desk, whose audience names the target.
    ///   - team: Those who may approve.
    ///   - target: The place that deployments go to. Nobody else may hold it.
    ///   - announce: Shows a question where the deployment is wanted, so that people can compare its fingerprints with their phones'.
    public init(
        desk: ApprovalDesk,
        team: [Approvers.Person],
        target: any DeploymentTarget,
        announce: @escaping @Sendable (ApprovalTicket) -> Void = { _ in }
    ) {
        (self.desk, self.team, self.target, self.announce) = (desk, team, target, announce)
    }

    /// Asks, and deploys once it is approved.
    ///
    /// - Parameters:
    ///   - id: The name of the deployment: the same one is asked for once, and done once.
    ///   - requester: The one who wants it, as the caller has authenticated them.
    /// - Throws: `ApprovalError` when nothing was done, and what the target throws.
    public func deploy(_ deployment: Deployment, id: String, requestedBy requester: Approvers.Person) async throws {
        let request = ApprovalRequest(
            id: id,
            from: .any(2, of: self.team).excluding(requester),
            template: Self.template,
            parameters: ["service": .ascii(deployment.service), "version": .ascii(deployment.version)],
            action: try .json(deployment.json),
            expires: .seconds(600)
        )
        // Asked twice is asked once: what follows goes on with this question.
        let ticket = try await self.desk.ask(request)
        if !ticket.state.isFinal { self.announce(ticket) }
        try await self.desk.perform(request) { approval in
            // The action is applied as approved, and not from the variable beside it.
            try await self.target.apply(approval.action, key: approval.idempotencyKey, notAfter: approval.notAfter)
        }
    }
}
