import MobileToken

/// The live stream of a service, with functions to wait for changes.
struct LiveList {
    let service: OperationsService
    let isFast: Bool

    /// Waits until the stream shows an operation, and returns it.
    func operation(_ id: String) async throws -> UserOperation {
        try await self.first("operation \(id) never appeared") { change in
            change.operations.first { $0.id == id }
        }
    }

    /// Waits until the stream no longer shows an operation, and returns the reason.
    func removal(of id: String) async throws -> OperationList.Change.RemovalReason {
        try await self.first("operation \(id) never left") { change in
            change.removed.first { $0.operation.id == id }?.reason
        }
    }

    private func first<Found: Sendable>(
        _ failure: String,
        _ find: @escaping @Sendable (OperationList.Change) -> Found?
    ) async throws -> Found {
        let changes = self.service.changes()
        // Otherwise the poll shows it within its interval.
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
