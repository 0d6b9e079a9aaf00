import DecisionReceipts
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// The password of every activation here.
let password = "correct horse"

extension Activation.Authentication {
    /// Possession and the right password.
    static var twoFactors: Self { .possessionAndKnowledge(password: password) }
}

extension Emulator {
    /// An operation of a user, as the server offers it to the service.
    func offer(_ template: String = "login", to user: String, on service: OperationsService) async throws
        -> UserOperation
    {
        let made = try await self.cloud.createOperation(template, userID: user)
        return try #require(try await service.operations().first { $0.id == made.id })
    }

    func status(of operation: UserOperation) async throws -> CloudClient.OperationStatus {
        try await self.cloud.operation(operation.id).status
    }
}

extension OperationsService.Configuration {
    static func on(_ clock: any Clock<Duration>) -> Self {
        altered(Self()) { $0.clock = clock }
    }
}

extension MobileTokenClient {
    func allReceipts() async throws -> [DecisionReceipt] {
        try await self.receipts().reduce(into: []) { $0.append($1) }
    }

    /// The results that the receipts have now.
    func results() async throws -> [DecisionOutcome.Result?] { try await self.allReceipts().map(\.outcome?.result) }
}

extension [Emulator.JournalEntry] {
    /// The last parts of the called paths.
    var calls: [String] { self.map { entry in entry.path.split(separator: "/").last.map(String.init) ?? "" } }
}

/// The code of what a call throws, or `nil` when it succeeds.
func errorCode(_ call: () async throws -> some Any) async throws -> MobileTokenError.Code? {
    do {
        _ = try await call()
        return nil
    } catch let error as MobileTokenError {
        return error.code
    }
}

/// Waits for an event that begins so.
func expect(_ prefix: String, in events: inout AsyncStream<ApprovalAgent.Event>.Iterator) async {
    while let event = await events.next(isolation: #isolation) {
        if event.kind.description.hasPrefix(prefix) { return }
    }
    Issue.record("no event begins with \(prefix)")
}
