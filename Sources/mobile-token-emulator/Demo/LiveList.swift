internal import MobileToken

/// Waits for things to happen in a service's live stream.
struct LiveList {
    let service: OperationsService
    let isFast: Bool

    /// The operation, once the stream shows it.
    func operation(_ id: String) async throws -> UserOperation {
        try await self.first("operation \(id) never appeared") { change in
            change.operations.first { $0.id == id }
        }
    }

    /// Why the operation left, once it did.
    func removal(of id: String) async throws -> OperationListChange.RemovalReason {
        try await self.first("operation \(id) never left") { change in
            change.removed.first { $0.operation.id == id }?.reason
        }
    }

    private func first<Found: Sendable>(
        _ failure: String,
        _ find: @escaping @Sendable (OperationListChange) -> Found?
    ) async throws -> Found {
        let changes = self.service.changes()
        // The poll would show it within its interval.
        if self.isFast { await self.service.refresh() }
        return try await withThrowingTaskGroup(of: Found.self) { group in
            group.addTask {
                for await change in changes {
                    if let found = find(change) { return found }
                }
                throw DemoFailure(failure)
            }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                throw DemoFailure(failure)
            }
            defer { group.cancelAll() }
            guard let found = try await group.next() else { throw DemoFailure(failure) }
            return found
        }
    }
}
