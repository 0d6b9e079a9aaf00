import APIDescriptions
import EmulatorBackend
import Foundation

struct ClockChange: Described {
    var now: Date?
    var mode: VirtualTime.Mode?
    /// The time to advance, in seconds.
    var advance: Double?
    /// Indicates whether the server settles before and after the change.
    var settle = false

    static let fields = FieldTable(
        "ClockChange",
        ClockChange.init(now:mode:advance:settle:),
        .optional("now", \.now, .date, "The time to show.", example: Date(timeIntervalSince1970: 1_772_352_000)),
        .optional("mode", \.mode, .cases(), "manual stands still until it is moved.", example: .manual),
        .optional(
            "advance",
            \.advance,
            .number,
            "The time by which the clock moves ahead; it may be negative.",
            example: 90,
            unit: .seconds
        ),
        .preset(
            "settle",
            \.settle,
            .boolean,
            or: false,
            "Waits before and after the change, 5 seconds each, until nothing has anything due or under way, as POST /settle does."
        )
    ).refusing { change in
        let isEmpty = change.now == nil && change.mode == nil && change.advance == nil
        return isEmpty ? .init(member: "", hint: "needs 'now', 'mode' or 'advance'") : nil
    }

    func apply(to time: inout VirtualTime) {
        switch self.mode ?? time.mode {
        case .manual: time.freeze(at: self.now ?? time.now())
        // Requesting the machine's time without another one resets any offset.
        case .real where self.now != nil || self.mode != nil: time.resume(from: self.now)
        case .real: break
        }
        if let seconds = self.advance { time.advance(bySeconds: seconds) }
    }

    /// The refusal of a time that the clock cannot show.
    var impossible: Refusal {
        let name = self.advance == nil ? "now" : "advance"
        return .invalidRequest("\(name): The clock shows the years 1970 to 9998")
    }
}

struct ClockState: Described {
    var now: Date
    var mode: VirtualTime.Mode

    static let fields = FieldTable(
        "Clock",
        ClockState.init(now:mode:),
        .required("now", \.now, .date),
        .required("mode", \.mode, .cases())
    )
}

extension ControlAPI {
    static let clockRoutes = [
        Route("GET /clock", "Tells the server's time.", gives: ClockState.form) { control in
            await control.clock
        },
        Route(
            "PUT /clock",
            named: "setClock",
            "Sets or moves the server's time.",
            takes: Call.body(ClockChange.form),
            gives: ClockState.form,
            refuses: [409]
        ) { control, change in
            // Due work is done at this time instead of the next one.
            if change.settle { try await control.settle() }
            guard await control.core.changeTime({ change.apply(to: &$0) }) else { throw change.impossible }
            if change.settle { try await control.settle() }
            return await control.clock
        },
    ]

    private var clock: ClockState {
        get async { ClockState(now: await self.core.now, mode: await self.core.timeMode) }
    }
}
