import APIDescriptions
import EmulatorBackend
import MobileTokenCloud

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

extension ControlAPI {
    static let callbackRoutes: [Route] = [
        Route(
            "GET /callbacks",
            named: "listCallbackSummaries",
            "Lists callbacks, and whether they are paused.",
            gives: FieldTable<[CallbackState]>(
                "CallbackStates",
                .required("items", \.self, .list(of: CallbackState.fields.inlined))
            ).form
        ) { control in
            let (backend, now) = await control.core.snapshot
            let outbox = control.core.callbackQueue.outbox
            return backend.shownCallbacks.map { callback in
                let isPaused = outbox.pause(ofCallback: callback.id, at: now.milliseconds) != nil
                return CallbackState(callback: callback, pause: CallbackPause(isPaused: isPaused))
            }
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
            _ = try backend.testMessage(ofCallback: id)
            return control.core.callbackQueue.change { outbox in
                outbox.setPaused(pause.isPaused, callback: id)
                return CallbackPause(isPaused: outbox.pause(ofCallback: id, at: now.milliseconds) != nil)
            }
        },
        Route(
            "POST /callbacks/{id}/test",
            named: "testCallback",
            "Sends a callback about an object that does not exist, to try the bank's address.",
            takes: Call.segment("id"),
            gives: Emulator.DeliverySummary.form
        ) { control, id in try await control.core.testCallback(id) },
        Route(
            "POST /callbacks/{id}/resend",
            named: "resendFailedDeliveries",
            "Sends again what has failed of a callback, except what later news of the same object have replaced.",
            takes: Call.segment("id"),
            gives: FieldTable<Int>("ResentDeliveries", .required("count", \.self, .count)).form
        ) { control, id in try await control.core.resendFailed(ofCallback: id) },
    ]
}
