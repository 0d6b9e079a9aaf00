import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// The pause of a callback, for which nothing is sent meanwhile.
struct CallbackPause: Described {
    var isPaused: Bool

    static let fields = FieldTable(
        "CallbackPause",
        Self.init(isPaused:),
        .required("isPaused", \.isPaused, .boolean, "By hand until it is resumed, or for a minute after many failures.")
    )
}

extension ControlAPI {
    static let callbackRoutes: [Route] = [
        Route("GET", "/callbacks", "Lists callbacks, and whether they are paused.", gives: .json(.callbackStates)) {
            control,
            _,
            _ in
            let (backend, now) = await control.core.snapshot
            let outbox = control.core.mailroom.outbox
            let items = backend.shownCallbacks.map { id, callback -> JSONValue in
                let isPaused = outbox.pause(ofCallback: id, at: now.milliseconds) != nil
                return ["callback": callback, "isPaused": .bool(isPaused)]
            }
            return .json(["items": .array(items)])
        },
        Route(
            .control(
                "PUT",
                "/callbacks/{id}",
                "Pauses a callback, whose deliveries then fail at once, or resumes it.",
                takes: Call.segment("id"),
                Call.body(CallbackPause.form),
                gives: CallbackPause.form
            )
        ) { control, input in
            let (id, pause) = input
            let (backend, now) = await control.core.snapshot
            guard backend.shownCallbacks.contains(where: { $0.id == id }) else {
                throw Refusal(404, "ERROR_NOT_FOUND", "There is no such callback")
            }
            return control.core.mailroom.change { outbox in
                outbox.setPaused(pause.isPaused, callback: id)
                return CallbackPause(isPaused: outbox.pause(ofCallback: id, at: now.milliseconds) != nil)
            }
        },
    ]
}

extension Schema {
    fileprivate static let callbackStates = Self.object(
        "CallbackStates",
        [
            .required(
                "items",
                .list(of: .object([.required("callback", .callback), .required("isPaused", .boolean)]))
            )
        ]
    )
}
