import APIDescriptions

extension ControlAPI {
    static let settlingRoutes = [
        Route(
            "POST /settle",
            named: "waitUntilSettled",
            "Waits until no virtual device, delivery or held request has anything due or under way; refuses if that takes too long.",
            takes: Call.body(Self.settlingWait.form, or: Self.usualWait),
            gives: Self.settledServer.form,
            refuses: [409]
        ) { control, seconds in
            try await control.settle(within: seconds)
        }
    ]

    /// The longest wait in seconds.
    private static let settlingWait = FieldTable<Double>(
        "SettlingWait",
        .preset(
            "within",
            \.self,
            .number(0...60),
            or: Self.usualWait,
            "The longest time to wait; 5 seconds by default.",
            example: 5,
            unit: .seconds
        )
    )

    private static let settledServer = FieldTable<[Emulator.PendingWork]>(
        "SettledServer",
        .required("later", \.self, .list(of: .described), "The work that waits for a later time by the server's clock.")
    )

    private static let usualWait = 5.0

    /// - Returns: The work due later.
    @discardableResult
    func settle(within seconds: Double = Self.usualWait) async throws -> [Emulator.PendingWork] {
        try await self.core.waitUntilIdle(within: .seconds(seconds), unlessThereAre: self.capacity.eventStreams)
    }
}
