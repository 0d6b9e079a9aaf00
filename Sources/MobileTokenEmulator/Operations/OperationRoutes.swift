import APIDescriptions
import EmulatorBackend

/// The wait for an operation: its length, and what it is for.
struct OperationWait: Described {
    /// In seconds.
    var wait: Double?
    var until: Emulator.OperationSummary.Milestone?

    static let fields = FieldTable(
        "OperationWait",
        OperationWait.init(wait:until:),
        .optional("wait", \.wait, .number(0...60), "For how many seconds to wait at most.", example: 5, unit: .seconds),
        .optional(
            "until",
            \.until,
            .cases(),
            "What to wait for: final, the default, is any status but PENDING; changed, any other than at the beginning.",
            example: .final
        )
    ).refusing { $0.until != nil && $0.wait == nil ? .init(member: "until", hint: "needs a 'wait'") : nil }
}

extension ControlAPI {
    static let operationRoutes = [
        Route(
            .control(
                "GET",
                "/operations",
                "Lists operations.",
                takes: Call.query(StatusPage<ServerOperation.Status>.fields),
                gives: SummaryPage<Emulator.OperationSummary>.form("OperationSummaries")
            )
        ) { control, page in
            let (backend, now) = await control.core.snapshot
            return backend.operationPage(status: page.status, page.bounds, at: now)
        },
        Route(
            .control(
                "GET",
                "/operations/{id}",
                "Shows an operation; with wait, once it is decided, or as it is when the wait is over.",
                takes: Call.segment("id"),
                Call.query(OperationWait.fields),
                gives: Emulator.OperationSummary.form
            )
        ) { control, input in
            let (id, asked) = input
            return try await control.core.operation(
                id,
                until: asked.until ?? .final,
                within: .seconds(asked.wait ?? 0),
                unlessThereAre: control.capacity.eventStreams
            )
        },
        Route(
            .control(
                "POST",
                "/operations/{id}/expire",
                "Lets an operation expire now; no other one, and no code or activation.",
                takes: Call.segment("id"),
                gives: Emulator.OperationSummary.form,
                refuses: [409]
            )
        ) { control, id in try await control.core.expireOperation(id) },
    ]
}
