import CommandLineSupport
import MobileTokenApprovals

/// A profile that asks: its settings, and its ledger.
struct AskPlace: Sendable {
    let settings: AskSettings
    /// The ledger, which is not opened yet.
    let ledger: ApprovalLedger
    /// The variables with the ledger's secrets, which a command does not inherit.
    let secretVariables: Set<String>

    /// Options that mean something to `ask configure` alone: elsewhere they would seem to be heeded.
    private static let configured = [
        "url", "powerauth-url", "sdk-configuration", "proxy", "ca-file", "pin", "sealing-key",
    ]

    init(_ invocation: Invocation, _ openers: [LedgerOpener]) throws {
        for option in Self.configured where invocation[option] != nil {
            throw UsageError(
                message: "--\(option) has no effect here; see 'ask configure'",
                command: invocation.command
            )
        }
        for flag in ["insecure", "insecure-http"] where invocation.has(flag) {
            throw UsageError(message: "--\(flag) has no effect here", command: invocation.command)
        }
        let folder = try ProfileHome(invocation).profile(invocation)
        self.settings = try AskSettings.existing(folder)
        let key = try self.settings.sealingKey.map { try SealingKeySource($0) }
        let place = try LedgerPlace(self.settings.ledger ?? "sqlite:\(folder.ledger)")
        (self.ledger, self.secretVariables) = try place.ledger(sealedBy: key, openers, invocation)
    }

    /// Returns a desk without a server, for commands that only read or settle the ledger.
    func deskWithoutServer() async throws -> ApprovalDesk {
        try await ApprovalDesk(audience: self.settings.audience, server: NoServer(), ledger: self.ledger)
    }
}

/// The server of a desk that needs none.
private struct NoServer: ApprovalServer {
    let timeout = Duration.seconds(20)

    private var failure: ServerFailure {
        ServerFailure(.unanswered(isOutcomeUnknown: false), code: "noServer", message: "There is no server here")
    }

    func time() async throws(ServerFailure) -> Int64? { throw self.failure }
    func create(_ operation: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        throw self.failure
    }
    func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation> { throw self.failure }
    func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        throw self.failure
    }
    func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration> {
        throw self.failure
    }
    func offlineCode(ofOperation id: String, registration: String) async throws(ServerFailure) -> Dated<String> {
        throw self.failure
    }
}
