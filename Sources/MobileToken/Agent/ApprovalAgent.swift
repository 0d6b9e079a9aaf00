/// Decides operations by a policy.
public actor ApprovalAgent {
}
