public import MobileTokenEmulator

extension Emulator {
    /// Waits until an operation is no longer `PENDING`, and returns it.
    ///
    /// ```swift
    /// #expect(await emulator.decision(on: payment.id)?.status == .approved)
    /// ```
    ///
    /// - Parameters:
    ///   - operationID: The operation.
    ///   - limit: The longest wait, in real time; `nil` is forever. After it an operation that still waits is returned.
    /// - Returns: `nil` if there is no such operation, or the server stops or the task is canceled before the decision.
    public func decision(
        on operationID: OperationSummary.ID,
        within limit: Duration? = nil
    ) async -> OperationSummary? {
        guard let limit else { return await self.decision(of: operationID) }
        return await withTaskGroup { group in
            group.addTask { await self.decision(of: operationID) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return await self.operations().first { $0.id == operationID }
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func decision(of operationID: OperationSummary.ID) async -> OperationSummary? {
        let events = self.events()  // before looking, so that none is missed in between
        if let decided = await self.decided(operationID) { return decided }
        for await event in events where event.kind == .reset || event.id == operationID {
            if let decided = await self.decided(operationID) { return decided }
        }
        return nil
    }

    private func decided(_ operationID: OperationSummary.ID) async -> OperationSummary? {
        await self.operations().first { $0.id == operationID && $0.status != .pending }
    }
}
