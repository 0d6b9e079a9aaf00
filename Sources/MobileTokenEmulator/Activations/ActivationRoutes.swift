import APIDescriptions
import EmulatorBackend
import ExactJSON

/// The length of a block.
struct TemporaryBlock: Described {
    var seconds: Double?

    static let fields = FieldTable(
        "TemporaryBlock",
        TemporaryBlock.init(seconds:),
        .optional(
            "seconds",
            \.seconds,
            .number,
            "The time after which the block ends by itself.",
            example: 300,
            unit: .seconds
        )
    )
}

/// A move of an activation's counter.
struct CounterChange: Described {
    /// The number of steps by which the counter moves ahead.
    var advance: UInt64

    static let fields = FieldTable(
        "CounterChange",
        CounterChange.init(advance:),
        .required(
            "advance",
            \.advance,
            .count,
            "The number of steps, 100 000 at most.",
            example: UInt64(20),
            unit: .steps
        )
    )
}

extension ControlAPI {
    static let activationRoutes = [
        Route(
            .control(
                "GET",
                "/activations",
                "Lists activations.",
                takes: Call.query(StatusPage<ServerActivation.Status>.fields),
                gives: SummaryPage<Emulator.ActivationSummary>.form("ActivationSummaries")
            )
        ) { control, page in
            await control.core.snapshot.backend.activationPage(status: page.status, page.bounds)
        },
        Route(
            .control(
                "GET",
                "/activations/{id}",
                "Shows an activation.",
                takes: Call.segment("id"),
                gives: Emulator.ActivationSummary.form
            )
        ) { control, id in try await control.activation(id) },
        Route(
            .control(
                "DELETE",
                "/activations/{id}",
                "Removes an activation.",
                takes: Call.segment("id"),
                gives: Emulator.ActivationSummary.form,
                refuses: [409]
            )
        ) { control, id in try await control.administer(.remove(activationID: id), id) },
        Route(
            .control(
                "POST",
                "/activations/{id}/block",
                "Blocks an activation, for good or for a time.",
                takes: Call.segment("id"),
                Call.body(TemporaryBlock.form, or: TemporaryBlock()),
                gives: Emulator.ActivationSummary.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, block) = input
            try await control.core.block(id, for: block.seconds)
            return try await control.activation(id)
        },
        Route(
            .control(
                "POST",
                "/activations/{id}/unblock",
                "Unblocks an activation.",
                takes: Call.segment("id"),
                gives: Emulator.ActivationSummary.form,
                refuses: [409]
            )
        ) { control, id in try await control.administer(.unblock(activationID: id), id) },
        Route(
            .control(
                "POST",
                "/activations/{id}/counter",
                named: "advanceCounter",
                "Moves an activation's counter ahead.",
                takes: Call.segment("id"),
                Call.body(CounterChange.form),
                gives: Emulator.ActivationSummary.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, change) = input
            return try await control.administer(.advanceCounter(activationID: id, by: change.advance), id)
        },
        // Whatever else is asked of an activation is asked with `POST`, too: another method is refused for itself.
        Route(
            "POST",
            "/activations/{id}/{action}",
            named: "refuseActivationChange",
            "Refuses a change that there is not.",
            status: nil
        ) { _, _, _ in
            throw Refusal.unknownControlPath
        },
    ]

    private func administer(_ change: AdministrativeChange, _ id: String) async throws -> Emulator.ActivationSummary {
        try await self.core.administer(change)
        return try await self.activation(id)
    }
}

extension EmulatorCore {
    /// Blocks an activation.
    ///
    /// - Parameter seconds: After how many the block ends by itself; `nil` for never.
    func block(_ activationID: String, for seconds: Double?) async throws(EmulatorError) {
        let expiration = seconds.map { self.now.milliseconds + $0.inMilliseconds }
        try await self.administer(.block(activationID: activationID, until: expiration))
    }
}

extension Emulator {
    /// Blocks an active activation.
    ///
    /// - Parameters:
    ///   - id: The activation.
    ///   - duration: The time after which the block ends by itself, in version 4 of the protocol; `nil`, the default, for never.
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func blockActivation(_ id: String, for duration: Duration? = nil) async throws(EmulatorError) {
        try await self.core.block(id, for: duration.map { $0 / .seconds(1) })
    }

    /// Unblocks a blocked activation.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func unblockActivation(_ id: String) async throws(EmulatorError) {
        try await self.core.administer(.unblock(activationID: id))
    }

    /// Removes an activation for good.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func removeActivation(_ id: String) async throws(EmulatorError) {
        try await self.core.administer(.remove(activationID: id))
    }

    /// Moves the server's counter of an activation ahead, so that the client is behind by so many signatures.
    ///
    /// To rehearse a client that is ahead, let some of its signed requests end in a fault that resets them `before`.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func advanceCounter(ofActivation id: String, by steps: UInt64) async throws(EmulatorError) {
        try await self.core.administer(.advanceCounter(activationID: id, by: steps))
    }
}
