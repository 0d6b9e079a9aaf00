import APIDescriptions
import EmulatorBackend
import EmulatorMessages

extension ControlAPI {
    /// All pages, and all endpoints of the control API.
    static let routes = RouteTable(
        Self.pageRoutes + Self.serverRoutes + Self.protocolRoutes + Self.faultRoutes + Self.stateRoutes
            + Self.activationRoutes + Self.operationRoutes + Self.messageRoutes + Self.inspectionRoutes
            + Self.deliveryRoutes + Self.callbackRoutes + Self.pushRoutes
            + Self.spaceRoutes + Self.deviceRoutes + Self.scriptRoutes + Self.signInRoutes
            + Backend.routes.routes.compactMap(Route.init(relaying:))
    )

    private static let serverRoutes =
        [
            Route(
                "POST /reset",
                named: "resetState",
                "Goes back to the state at the start.",
                gives: Form.done
            ) { control in
                try await control.core.reset()
            }
        ] + Self.clockRoutes + Self.settlingRoutes + Self.journalRoutes + Self.reportRoutes

    private static let reportRoutes: [Route] = [
        Route(
            "GET /events",
            named: "followEvents",
            "Tells everything that changes, as server-sent events.",
            gives: .events(type: "text/event-stream", Emulator.Event.schema)
        ) { control, request, _ in
            // The stream has no end, so there is no response to HEAD.
            guard request.method == "GET" else { throw Refusal.wrongMethod(allowed: ["GET"]) }
            return try control.eventStream()
        },
        Route(
            "GET /access",
            named: "checkAccess",
            "Tells whether the request showed the credentials, whose these are, and which applications there are.",
            gives: .json(ShownAccess.schema)
        ) { control, request, _ in
            let own = control.core.application.id
            let others = await control.core.snapshot.backend.state.applications.values.map(\.id).filter { $0 != own }
            return .json(
                ShownAccess(
                    isAuthenticated: control.access.isAuthenticated(request),
                    user: control.core.configuration.cloudUser,
                    applications: [own] + others.sorted()
                ).json
            )
        },
        Route(
            "GET /configuration",
            needsCredentials: true,
            "Tells what clients are configured with.",
            gives: ServerConfiguration.form
        ) { control in
            ServerConfiguration(
                application: control.core.application,
                server: control.core.configuration,
                address: control.address,
                certificate: control.certificate
            )
        },
        Route(
            "GET /qr",
            named: "drawQrCode",
            "Draws a QR code.",
            asks: [.text],
            gives: .other(type: "image/svg+xml")
        ) { _, request, _ in
            try QRCode.response(to: request)
        },
    ]

    private static let stateRoutes: [Route] = [
        Route(
            "GET /export",
            named: "exportState",
            needsCredentials: true,
            "Exports the whole state, keys included.",
            gives: .json(.exportedState)
        ) { control, _, _ in
            let document = try await control.core.exported()
            let headers = [(name: "Content-Type", value: "application/json")]
            return ServerResponse(status: 200, headers: headers, body: .bytes(document))
        },
        Route(
            "POST /import",
            named: "importState",
            "Replaces the whole state by an exported one.",
            takes: .document(.exportedState)
        ) { control, request, _ in
            try await control.core.importState(request.body)
            return .ok
        },
    ]

    private static let deliveryRoutes = [
        Route(
            "GET /deliveries",
            "Lists what the bank was told, and what it is to be told.",
            takes: Call.query(PageBounds.fields),
            gives: SummaryPage<Emulator.DeliverySummary>.form("DeliverySummaries")
        ) { control, bounds in
            SummaryPage(control.core.callbackQueue.outbox.newestFirst, bounds, Emulator.DeliverySummary.init)
        },
        Route(
            "GET /deliveries/{id}",
            "Shows a delivery.",
            takes: Call.segment("id"),
            gives: Emulator.DeliverySummary.form
        ) { control, id in try control.delivery(id) },
        Route(
            "POST /deliveries/{id}/replay",
            "Sends a delivery once more that has ended.",
            takes: Call.segment("id"),
            gives: Emulator.DeliverySummary.form
        ) { control, id in
            try await control.core.replayDelivery(control.delivery(id).id)
            return try control.delivery(id)
        },
    ]

    private static let pushRoutes = [
        Route(
            "GET /pushes",
            "Lists the push messages that a real server would have sent.",
            takes: Call.query(Self.pushedActivation, PageBounds.fields),
            gives: SummaryPage<Emulator.PushSummary>.form("PushSummaries")
        ) { control, asked in
            let (activationID, bounds) = asked
            let pushes = await control.core.pushes.newestFirst.lazy
                .filter { activationID == nil || $0.activationID == activationID }
            return SummaryPage(pushes, bounds) { $0 }
        },
        Route(
            "GET /pushes/{id}",
            "Shows a push message.",
            takes: Call.segment("id"),
            gives: Emulator.PushSummary.form
        ) { control, id in
            let pushes = await control.core.pushes
            return try UInt64(id).flatMap { pushes[$0] }.found("push message")
        },
    ]

    private static let pushedActivation = FieldTable<String?>(
        "PushedActivation",
        .optional("activationId", \.self, .string, "Lists those for this activation only.")
    )

    private static let messageRoutes = [
        Route(
            "GET /messages",
            "Lists messages.",
            takes: Call.query(PageBounds.fields),
            gives: SummaryPage<Emulator.MessageSummary>.form("MessageSummaries")
        ) { control, bounds in await control.core.snapshot.backend.messagePage(bounds) },
        Route(
            "GET /messages/{id}",
            "Shows a message.",
            takes: Call.segment("id"),
            gives: Emulator.MessageSummary.form
        ) { control, id in try await control.core.snapshot.backend.message(id).found("message") },
    ]
}
