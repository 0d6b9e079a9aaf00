import EmulatorBackend
import EmulatorMessages
import Foundation

extension ControlAPI {
    /// Every endpoint of the control API; `HEAD` is treated as `GET`.
    static let routes = RouteTable(
        Self.serverRoutes + Self.protocolRoutes + Self.faultRoutes + Self.stateRoutes + Self.activationRoutes
            + Self.listRoutes + Self.inspectionRoutes + Self.deliveryRoutes + Self.pushRoutes + Self.spaceRoutes
            + Self.deviceRoutes + Self.scriptRoutes
            + Backend.routes.routes.compactMap(Route.init(relaying:))
    )

    private static let serverRoutes: [Route] = [
        Route("POST", "/reset", "Goes back to the state at the start.") { control, _, _ in
            try await control.core.reset()
            return .ok
        },
        Route("GET", "/clock", "Tells the server's time.", gives: .json(.clock)) { control, _, _ in
            await control.clock()
        },
        Route(
            "PUT",
            "/clock",
            "Sets or moves the server's time.",
            takes: .required(.clockChange),
            gives: .json(.clock)
        ) { control, request, _ in
            try await control.setClock(request.decoded())
            return await control.clock()
        },
        Route(
            "GET",
            "/journal",
            "Tells what was received, and why it was refused: the newest first, or with since, run or wait the oldest first.",
            asks: [.since, .run, .wait, .before, .journalLimit, .operation, .activation, .delivery],
            gives: .json(.journal)
        ) { control, request, _ in
            try await control.journal(request)
        },
        Route(
            "GET",
            "/events",
            "Tells everything that changes, as server-sent events.",
            gives: .other(type: "text/event-stream")
        ) { control, request, _ in
            // The stream has no end, so there is no response to HEAD.
            guard request.method == "GET" else { throw Refusal.wrongControlMethod(allowed: ["GET"]) }
            return try control.eventStream()
        },
        Route("GET", "/access", "Tells whether the request showed the credentials.", gives: .json(.access)) {
            control,
            _,
            _ in
            .encoding(["isAuthenticated": control.isAuthenticated])
        },
        Route(
            "GET",
            "/configuration",
            needsCredentials: true,
            "Tells what clients are configured with.",
            gives: .json(.configuration)
        ) { control, _, _ in
            .encoding(ServerConfiguration(control.core, control.address, control.certificate))
        },
        Route("GET", "/qr", "Draws a QR code.", asks: [.text], gives: .other(type: "image/svg+xml")) { _, request, _ in
            try QRCode.response(to: request)
        },
    ]

    private static let protocolRoutes: [Route] = [
        Route("GET", "/protocol", "Tells which versions of the protocol are accepted.", gives: .json(.protocolRules)) {
            control,
            _,
            _ in
            await control.protocolRules()
        },
        Route(
            "PUT",
            "/protocol",
            "Changes which versions of the protocol are accepted.",
            takes: .required(.protocolChange),
            gives: .json(.protocolRules)
        ) { control, request, _ in
            try await control.setProtocolRules(request.decoded())
            return await control.protocolRules()
        },
    ]

    private static let faultRoutes: [Route] = [
        Route("GET", "/faults", "Lists the fault rules.", gives: .json(.faultRules)) { control, _, _ in
            await control.faults()
        },
        Route(
            "PUT",
            "/faults",
            "Replaces the fault rules.",
            takes: .required(.faultRules),
            gives: .json(.faultRules),
            refuses: [507]
        ) { control, request, _ in
            try await control.setFaults(request.decoded(FaultRules.self).rules)
            return await control.faults()
        },
        Route(
            "POST",
            "/faults",
            "Adds a fault rule.",
            takes: .required(.faultRule),
            gives: .json(.faultRules),
            refuses: [507]
        ) { control, request, _ in
            try await control.addFault(request.decoded())
            return await control.faults()
        },
        Route("DELETE", "/faults", "Removes the fault rules.", gives: .json(.faultRules)) { control, _, _ in
            await control.core.setFaults([])
            return await control.faults()
        },
    ]

    private static let stateRoutes: [Route] = [
        Route(
            "GET",
            "/export",
            needsCredentials: true,
            "Exports the whole state, keys included.",
            gives: .json(.exportedState)
        ) { control, _, _ in
            let document = try await control.core.exported()
            let headers = [(name: "Content-Type", value: "application/json")]
            return ServerResponse(status: 200, headers: headers, body: .bytes(document))
        },
        Route(
            "POST",
            "/import",
            "Replaces the whole state by an exported one.",
            takes: .required(.anything)
        ) { control, request, _ in
            try await control.core.importState(request.body)
            return .ok
        },
    ]

    private static let activationRoutes: [Route] = [
        Route(
            "GET",
            "/activations",
            "Lists activations.",
            asks: [.activationStatus] + .page,
            gives: .json(.activationSummaries)
        ) { control, request, _ in
            let (backend, _) = await control.core.snapshot
            return .encoding(backend.activationPage(status: request.queryValue("status"), try .init(request)))
        },
        Route("GET", "/activations/{id}", "Shows an activation.", gives: .json(.activationSummary)) {
            control,
            _,
            arguments in
            .encoding(try await control.activation(arguments[0]))
        },
        Route(
            "DELETE",
            "/activations/{id}",
            "Removes an activation.",
            gives: .json(.activationSummary),
            refuses: [409]
        ) { control, _, arguments in
            try await control.administer(.remove(activationID: arguments[0]), arguments[0])
        },
        Route(
            "POST",
            "/activations/{id}/block",
            "Blocks an activation, for good or for a time.",
            takes: .optional(.temporaryBlock),
            gives: .json(.activationSummary),
            refuses: [409]
        ) { control, request, arguments in
            let seconds = request.body.isEmpty ? nil : try request.decoded(TemporaryBlock.self).seconds
            return try await control.block(arguments[0], for: seconds)
        },
        Route(
            "POST",
            "/activations/{id}/unblock",
            "Unblocks an activation.",
            gives: .json(.activationSummary),
            refuses: [409]
        ) { control, _, arguments in
            try await control.administer(.unblock(activationID: arguments[0]), arguments[0])
        },
        Route(
            "POST",
            "/activations/{id}/counter",
            "Moves an activation's counter ahead.",
            takes: .required(.counterChange),
            gives: .json(.activationSummary),
            refuses: [409]
        ) { control, request, arguments in
            let steps = try request.decoded(CounterChange.self).advance
            return try await control.administer(
                .advanceCounter(activationID: arguments[0], by: steps),
                arguments[0]
            )
        },
        // Whatever else is asked of an activation is asked with `POST`, too: another method is refused for itself.
        Route("POST", "/activations/{id}/{action}", "Refuses a change that there is not.", status: nil) { _, _, _ in
            throw Refusal.unknownControlPath
        },
    ]

    private static let deliveryRoutes: [Route] = [
        Route(
            "GET",
            "/deliveries",
            "Lists what the bank was told, and what it is to be told.",
            asks: .page,
            gives: .json(.deliverySummaries)
        ) { control, request, _ in
            let deliveries = control.core.mailroom.outbox.newestFirst
            return .encoding(SummaryPage(deliveries, try .init(request), Emulator.DeliverySummary.init))
        },
        Route("GET", "/deliveries/{id}", "Shows a delivery.", gives: .json(.deliverySummary)) { control, _, arguments in
            .encoding(try control.delivery(arguments[0]))
        },
        Route(
            "POST",
            "/deliveries/{id}/replay",
            "Sends a delivery once more that has ended.",
            gives: .json(.deliverySummary)
        ) { control, _, arguments in
            try await control.core.replayDelivery(control.delivery(arguments[0]).id)
            return .encoding(try control.delivery(arguments[0]))
        },
    ]

    private static let pushRoutes: [Route] = [
        Route(
            "GET",
            "/pushes",
            "Lists the push messages that a real server would have sent.",
            asks: [.activation] + .page,
            gives: .json(.pushSummaries)
        ) { control, request, _ in
            let activation = request.queryValue("activation")
            let pushes = await control.core.pushes.newestFirst.lazy
                .filter { activation == nil || $0.activationID == activation }
            return .encoding(SummaryPage(pushes, try .init(request)) { $0 })
        },
        Route("GET", "/pushes/{id}", "Shows a push message.", gives: .json(.pushSummary)) { control, _, arguments in
            guard let id = UInt64(arguments[0]), let push = await control.core.pushes[id] else {
                throw Refusal(404, "ERROR_NOT_FOUND", "There is no such push message")
            }
            return .encoding(push)
        },
    ]

    private static let listRoutes: [Route] = [
        Route(
            "GET",
            "/operations",
            "Lists operations.",
            asks: [.operationStatus] + .page,
            gives: .json(.operationSummaries)
        ) { control, request, _ in
            let (backend, now) = await control.core.snapshot
            return .encoding(backend.operationPage(status: request.queryValue("status"), try .init(request), at: now))
        },
        Route("GET", "/operations/{id}", "Shows an operation.", gives: .json(.operationSummary)) {
            control,
            _,
            arguments in
            .encoding(try await control.operation(arguments[0]))
        },
        Route("GET", "/messages", "Lists messages.", asks: .page, gives: .json(.messageSummaries)) {
            control,
            request,
            _ in
            .encoding(await control.core.snapshot.backend.messagePage(try .init(request)))
        },
        Route("GET", "/messages/{id}", "Shows a message.", gives: .json(.messageSummary)) { control, _, arguments in
            .encoding(try await control.message(arguments[0]))
        },
    ]
}
