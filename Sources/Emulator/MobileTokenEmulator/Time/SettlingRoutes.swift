import APIDescriptions

struct SettlingWait: Described {
    /// The longest wait in seconds.
    var within: Double = 5

    static let fields = FieldTable(
        "SettlingWait",
        SettlingWait.init(within:),
        .preset(
            "within",
            \.within,
            .number(0...60),
            or: 5,
            "The longest time to wait; 5 seconds by default.",
            example: 5,
            unit: .seconds
        )
    )
}

struct SettledServer: Described {
    var later: [Emulator.PendingWork]

    static let fields = FieldTable(
        "SettledServer",
        SettledServer.init(later:),
        .required(
            "later",
            \.later,
            .list(of: .described),
            "The work that waits for a later time by the server's clock."
        )
    )
}

extension ControlAPI {
    static let settlingRoutes = [
        Route(
            "POST /settle",
            named: "waitUntilSettled",
            "Waits until no virtual device, delivery or held request has anything due or under way; refuses if that takes too long.",
            takes: Call.body(SettlingWait.form, or: SettlingWait()),
            gives: SettledServer.form,
            refuses: [409]
        ) { control, asked in
            SettledServer(later: try await control.settle(within: asked.within))
        }
    ]

    /// - Returns: The work due later.
    @discardableResult
    func settle(within seconds: Double = SettlingWait().within) async throws -> [Emulator.PendingWork] {
        try await self.core.waitUntilIdle(within: .seconds(seconds), unlessThereAre: self.capacity.eventStreams)
    }
}
