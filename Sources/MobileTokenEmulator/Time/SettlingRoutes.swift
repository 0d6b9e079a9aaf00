import APIDescriptions

/// The wait for the server to settle.
struct SettlingWait: Described {
    /// In seconds.
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

/// A server that has nothing more to do.
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
            .control(
                "POST",
                "/settle",
                named: "waitUntilSettled",
                "Waits until no virtual device and no delivery has anything due or under way; refuses if that takes too long.",
                takes: Call.body(SettlingWait.form, or: SettlingWait()),
                gives: SettledServer.form,
                refuses: [409]
            )
        ) { control, asked in
            let limit = control.capacity.eventStreams
            let later = try await control.core.waitUntilIdle(within: .seconds(asked.within), unlessThereAre: limit)
            return SettledServer(later: later)
        }
    ]
}
