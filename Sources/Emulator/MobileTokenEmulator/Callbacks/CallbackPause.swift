import APIDescriptions
import CloudCalls
import EmulatorBackend

/// The pause of a callback, during which nothing is sent.
struct CallbackPause: Described {
    var isPaused: Bool

    static let fields = FieldTable(
        "CallbackPause",
        Self.init(isPaused:),
        .required(
            "isPaused",
            \.isPaused,
            .boolean,
            "Indicates that nothing is delivered: until it is resumed by hand, or for a minute after many failures."
        )
    )
}

struct CallbackState: Described {
    var callback: CloudAPI.Callback
    var pause: CallbackPause

    static let fields = FieldTable("CallbackState", Self.init, \.callback, \.pause)
}

/// All callbacks, oldest first.
struct CallbackStates: Described {
    var items: [CallbackState]

    static let fields = FieldTable(
        "CallbackStates",
        Self.init(items:),
        .required("items", \.items, .list(of: CallbackState.fields.inlined))
    )
}

extension ControlAPI {
    static let callbackRoutes: [Route] = [
        Route(
            "GET /callbacks",
            named: "listCallbackSummaries",
            "Lists callbacks, and whether they are paused.",
            gives: CallbackStates.form
        ) { control in
            let (backend, now) = await control.core.snapshot
            let outbox = control.core.callbackQueue.outbox
            let states = backend.shownCallbacks.map { callback in
                let isPaused = outbox.pause(ofCallback: callback.id, at: now.milliseconds) != nil
                return CallbackState(callback: callback, pause: CallbackPause(isPaused: isPaused))
            }
            return CallbackStates(items: states)
        },
        Route(
            "PUT /callbacks/{id}",
            named: "pauseCallback",
            "Sets whether a callback is paused. While it is, its deliveries fail at once.",
            takes: Call.segment("id"),
            Call.body(CallbackPause.form),
            gives: CallbackPause.form
        ) { control, id, pause in
            let (backend, now) = await control.core.snapshot
            guard backend.shownCallbacks.contains(where: { $0.id == id }) else { throw Refusal.noSuch("callback") }
            return control.core.callbackQueue.change { outbox in
                outbox.setPaused(pause.isPaused, callback: id)
                return CallbackPause(isPaused: outbox.pause(ofCallback: id, at: now.milliseconds) != nil)
            }
        },
    ]
}
