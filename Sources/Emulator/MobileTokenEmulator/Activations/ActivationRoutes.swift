import APIDescriptions
import EmulatorBackend

extension ControlAPI {
    static let activationRoutes = [
        Route(
            "GET /activations",
            "Lists activations.",
            takes: Call.query(StatusFilter<ServerActivation.Status>.fields, PageBounds.fields),
            gives: SummaryPage<Emulator.ActivationSummary>.form("ActivationSummaries")
        ) { control, asked in
            await control.core.snapshot.backend.activationPage(asked.0, asked.1)
        },
        Route(
            "GET /activations/{id}",
            "Shows an activation.",
            takes: Call.segment("id"),
            gives: Emulator.ActivationSummary.form
        ) { control, id in try await control.activation(id) },
        Route(
            "DELETE /activations/{id}",
            "Removes an activation.",
            takes: Call.segment("id"),
            gives: Emulator.ActivationSummary.form,
            refuses: [409]
        ) { control, id in try await control.administer(.remove(activationID: id), id) },
        Route(
            "POST /activations/{id}/block",
            "Blocks an activation, for good or for a time.",
            takes: Call.segment("id"),
            Call.body(Self.block.form, or: nil),
            gives: Emulator.ActivationSummary.form,
            refuses: [409]
        ) { control, id, seconds in
            try await control.core.block(id, for: seconds)
            return try await control.activation(id)
        },
        Route(
            "POST /activations/{id}/unblock",
            "Unblocks an activation.",
            takes: Call.segment("id"),
            gives: Emulator.ActivationSummary.form,
            refuses: [409]
        ) { control, id in try await control.administer(.unblock(activationID: id), id) },
        Route(
            "POST /activations/{id}/counter",
            named: "advanceCounter",
            "Moves an activation's counter ahead.",
            takes: Call.segment("id"),
            Call.body(Self.counterChange.form),
            gives: Emulator.ActivationSummary.form,
            refuses: [409]
        ) { control, id, steps in
            try await control.administer(.advanceCounter(activationID: id, by: steps), id)
        },
        // Any other action is also requested with `POST`, so its refusal names the method.
        Route(
            "POST /activations/{id}/{action}",
            named: "refuseActivationChange",
            "Refuses a change that there is not.",
            status: nil
        ) { _, _, _ in
            throw Refusal.unknownControlPath
        },
    ]

    private static let block = FieldTable<Double?>(
        "TemporaryBlock",
        .optional(
            "seconds",
            \.self,
            .number,
            "The time after which the block ends by itself.",
            example: 300,
            unit: .seconds
        )
    )

    private static let counterChange = FieldTable<UInt64>(
        "CounterChange",
        .required("advance", \.self, .count, "The number of steps, 100 000 at most.", example: 20, unit: .steps)
    )

    private func administer(_ change: AdministrativeChange, _ id: String) async throws -> Emulator.ActivationSummary {
        try await self.core.administer(change)
        return try await self.activation(id)
    }
}

extension EmulatorCore {
    /// Blocks an activation.
    ///
    /// - Parameter seconds: The time until the block ends by itself; `nil` for never.
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
    ///   - duration: The time until the block ends by itself, in version 4 of the protocol; `nil`, the default, for never.
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

    /// Removes an activation permanently.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func removeActivation(_ id: String) async throws(EmulatorError) {
        try await self.core.administer(.remove(activationID: id))
    }

    /// Advances the server's counter of an activation, so that the client is behind by `steps` signatures.
    ///
    /// To rehearse a client that is ahead, use a fault that resets some of its signed requests `before`.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `conflict`.
    public func advanceCounter(ofActivation id: String, by steps: UInt64) async throws(EmulatorError) {
        try await self.core.administer(.advanceCounter(activationID: id, by: steps))
    }
}
