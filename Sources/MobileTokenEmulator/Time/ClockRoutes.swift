import APIDescriptions
import EmulatorBackend
import ExactJSON
import Foundation

/// A change of the server's time.
struct ClockChange: Described {
    var now: Date?
    var mode: VirtualTime.Mode?
    /// In seconds.
    var advance: Double?

    static let fields = FieldTable(
        "ClockChange",
        ClockChange.init(now:mode:advance:),
        .optional("now", \.now, .date, "The time to show.", example: Date(timeIntervalSince1970: 1_772_352_000)),
        .optional("mode", \.mode, .cases(), "manual stands still until it is moved.", example: .manual),
        .optional(
            "advance",
            \.advance,
            .number,
            "The time by which the clock moves ahead; it may be negative.",
            example: 90,
            unit: .seconds
        )
    ).refusing { change in
        let isEmpty = change.now == nil && change.mode == nil && change.advance == nil
        return isEmpty ? .init(member: "", hint: "needs 'now', 'mode' or 'advance'") : nil
    }

    func apply(to time: inout VirtualTime) {
        switch self.mode ?? time.mode {
        case .manual: time.freeze(at: self.now ?? time.now())
        // A request for the machine's time, without another one, resets whatever the clock was moved by.
        case .real where self.now != nil || self.mode != nil: time.resume(from: self.now)
        case .real: break
        }
        if let seconds = self.advance { time.advance(bySeconds: seconds) }
    }

    /// The refusal where the clock cannot show what it would be set to.
    var impossible: Refusal {
        let name = self.advance == nil ? "now" : "advance"
        return .invalidRequest("\(name): The clock shows the years 1 to 9998")
    }
}

/// The server's time.
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
        Route(.control("GET", "/clock", "Tells the server's time.", gives: ClockState.form)) { control, _ in
            await control.clock
        },
        Route(
            .control(
                "PUT",
                "/clock",
                named: "setClock",
                "Sets or moves the server's time.",
                takes: Call.body(ClockChange.form),
                gives: ClockState.form
            )
        ) { control, change in
            guard await control.core.changeTime({ change.apply(to: &$0) }) else { throw change.impossible }
            return await control.clock
        },
    ]

    private var clock: ClockState {
        get async { ClockState(now: await self.core.now, mode: await self.core.timeMode) }
    }
}
