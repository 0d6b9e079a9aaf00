import APIDescriptions
import EmulatorBackend

struct OperationWait: Described {
    /// The longest wait in seconds.
    var wait: Double?
    var until: Emulator.OperationSummary.Milestone?

    static let fields = FieldTable(
        "OperationWait",
        OperationWait.init(wait:until:),
        .optional("wait", \.wait, .number(0...60), "The longest time to wait.", example: 5, unit: .seconds),
        .optional(
            "until",
            \.until,
            .cases(),
            "The status to wait for: final, the default, is any but PENDING; changed, any other than at the beginning.",
            example: .final
        )
    ).refusing { $0.until != nil && $0.wait == nil ? .init(member: "until", hint: "needs a 'wait'") : nil }
}

extension ControlAPI {
    static let operationRoutes = [
        Route(
            "GET /operations",
            named: "listOperationSummaries",
            "Lists operations.",
            takes: Call.query(StatusFilter<ServerOperation.Status>.fields, PageBounds.fields),
            gives: SummaryPage<Emulator.OperationSummary>.form("OperationSummaries")
        ) { control, asked in
            let (backend, now) = await control.core.snapshot
            return backend.operationPage(asked.0, asked.1, at: now)
        },
        Route(
            "GET /operations/{id}",
            named: "getOperationSummary",
            "Shows an operation; with wait, once it is decided, or as it is when the wait is over.",
            takes: Call.segment("id"),
            Call.query(OperationWait.fields),
            gives: Emulator.OperationSummary.form
        ) { control, id, asked in
            try await control.core.operation(
                id,
                until: asked.until ?? .final,
                within: .seconds(asked.wait ?? 0),
                unlessThereAre: control.capacity.eventStreams
            )
        },
        Route(
            "POST /operations/{id}/expire",
            "Lets an operation expire now; no other one, and no code or activation.",
            takes: Call.segment("id"),
            gives: Emulator.OperationSummary.form,
            refuses: [409]
        ) { control, id in try await control.core.expireOperation(id) },
    ]
}

extension Emulator.OperationSummary {
    /// A state of an operation to wait for.
    public enum Milestone: String, Sendable, CaseIterable {
        /// The operation is approved, rejected, canceled or expired, or has failed.
        case final
        /// The status differs from the one at the start of the wait.
        case changed
    }
}

extension Emulator {
    /// Returns an operation when it reaches a milestone, or as it is at the end of the wait.
    ///
    /// ```swift
    /// let operation = try await emulator.operation(id, until: .final, within: .seconds(5))
    /// #expect(operation.status == .approved)
    /// ```
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func operation(
        _ id: OperationSummary.ID,
        until milestone: OperationSummary.Milestone,
        within duration: Duration
    ) async throws(EmulatorError) -> OperationSummary {
        do { return try await self.core.operation(id, until: milestone, within: duration) } catch {
            throw EmulatorError(any: error)
        }
    }
}

extension Emulator {
    /// Expires an operation now. Moving the clock would expire everything else too.
    ///
    /// ```swift
    /// let operation = try await emulator.cloud.createOperation("login", userID: "alice")
    /// try await emulator.expireOperation(operation.id)  // and see what your bank does
    /// ```
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`, or `conflict` if it is no longer pending.
    public func expireOperation(_ id: OperationSummary.ID) async throws(EmulatorError) {
        _ = try await self.core.expireOperation(id)
    }
}

extension EmulatorCore {
    func expireOperation(_ id: String) async throws(EmulatorError) -> Emulator.OperationSummary {
        try await self.administer(.expire(operationID: id))
        return try await self.operation(id)
    }

    /// - Parameter limit: The maximum number of clients that follow the server.
    func operation(
        _ id: String,
        until milestone: Emulator.OperationSummary.Milestone,
        within duration: Duration,
        unlessThereAre limit: Int = .max
    ) async throws -> Emulator.OperationSummary {
        let former = try await self.operation(id).status
        let pending = CloudClient.OperationStatus.pending
        return try await self.waiting(duration, for: [.operation, .reset], unlessThereAre: limit) {
            let operation = try await self.operation(id)
            return (operation, operation.status != (milestone == .final ? pending : former))
        }
    }

    private func operation(_ id: String) async throws(EmulatorError) -> Emulator.OperationSummary {
        await self.settle()  // One whose time is over has expired, even if nobody has noticed yet.
        guard let operation = self.backend.operation(id, at: self.now) else {
            throw EmulatorError(.noSuch("operation"))
        }
        return operation
    }
}
