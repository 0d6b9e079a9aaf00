import MobileTokenApprovals

extension Tool {
    /// Deploys, once the person has approved it.
    ///
    /// - Parameter target: The credential. It is captured here, in the server, and no answer shows it.
    public static func deploy(to target: any DeploymentTarget) -> Self {
        .gated(
            "deploy",
            template: DeploymentGate.template,
            shows: { arguments in
                let deployment = try Deployment(arguments)
                return ["service": .ascii(deployment.service), "version": .ascii(deployment.version)]
            },
            acts: { approval in
                try await target.apply(approval.action, key: approval.idempotencyKey, notAfter: approval.notAfter)
                let people = approval.approvals.map(\.person.id).joined(separator: " and ")
                return "deployed; approved by \(people)"
            }
        )
    }
}
