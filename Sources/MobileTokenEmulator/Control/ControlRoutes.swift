import EmulatorBackend
import EmulatorMessages
import Foundation

extension ControlAPI {
    /// One endpoint of the control API.
    struct Route: Routable {
        typealias Handler =
            @Sendable (ControlAPI, ReceivedRequest, _ arguments: [String]) async throws -> ServerResponse

        let method: String
        let path: String
        /// Whether it asks for the credentials on loopback too: what is read there holds keys or passwords.
        let needsCredentials: Bool
        let summary: String
        let handler: Handler

        init(
            _ method: String,
            _ path: String,
            needsCredentials: Bool = false,
            _ summary: String,
            _ handler: @escaping Handler
        ) {
            self.method = method
            self.path = "/_emulator" + path
            self.needsCredentials = needsCredentials
            self.summary = summary
            self.handler = handler
        }
    }

    /// Every endpoint of the control API; `HEAD` is treated as `GET`.
    static let routes = RouteTable(
        Self.serverRoutes + Self.protocolRoutes + Self.faultRoutes + Self.stateRoutes + Self.cloudRoutes
    )

    private static let serverRoutes: [Route] = [
        Route("POST", "/reset", "Goes back to the state at the start.") { control, _, _ in
            try await control.core.reset()
            return .ok
        },
        Route("GET", "/clock", "Tells the server's time.") { control, _, _ in await control.clock() },
        Route("PUT", "/clock", "Sets or moves the server's time.") { control, request, _ in
            try await control.setClock(request.decoded())
            return await control.clock()
        },
        Route("GET", "/journal", "Tells what was received, and why it was refused.") { control, request, _ in
            try await control.journal(request)
        },
        Route("GET", "/events", "Tells everything that changes, as server-sent events.") { control, request, _ in
            // The stream has no end, so there is no response to HEAD.
            guard request.method == "GET" else { throw Refusal.wrongControlMethod(allowed: ["GET"]) }
            return try control.eventStream()
        },
        Route("GET", "/access", "Tells whether the request showed the credentials.") { control, _, _ in
            .encoding(["isAuthenticated": control.isAuthenticated])
        },
        Route("GET", "/configuration", needsCredentials: true, "Tells what clients are configured with.") {
            control,
            _,
            _ in
            .encoding(ServerConfiguration(control.core, control.address, control.certificate))
        },
        Route("GET", "/qr", "Draws a QR code.") { _, request, _ in try QRCode.response(to: request) },
    ]

    private static let protocolRoutes: [Route] = [
        Route("GET", "/protocol", "Tells which versions of the protocol are accepted.") { control, _, _ in
            await control.protocolRules()
        },
        Route("PUT", "/protocol", "Changes which versions of the protocol are accepted.") { control, request, _ in
            try await control.setProtocolRules(request.decoded())
            return await control.protocolRules()
        },
    ]

    private static let faultRoutes: [Route] = [
        Route("GET", "/faults", "Lists the fault rules.") { control, _, _ in await control.faults() },
        Route("PUT", "/faults", "Replaces the fault rules.") { control, request, _ in
            try await control.setFaults(request.decoded(FaultRules.self).rules)
            return await control.faults()
        },
        Route("POST", "/faults", "Adds a fault rule.") { control, request, _ in
            try await control.addFault(request.decoded())
            return await control.faults()
        },
        Route("DELETE", "/faults", "Removes the fault rules.") { control, _, _ in
            await control.core.setFaults([])
            return await control.faults()
        },
    ]

    private static let stateRoutes: [Route] = [
        Route("GET", "/export", needsCredentials: true, "Exports the whole state, keys included.") { control, _, _ in
            let document = try await control.core.exported()
            let headers = [(name: "Content-Type", value: "application/json")]
            return ServerResponse(status: 200, headers: headers, body: .bytes(document))
        },
        Route("POST", "/import", "Replaces the whole state by an exported one.") { control, request, _ in
            try request.requireJSON()
            try await control.core.importState(request.body)
            return .ok
        },
        Route("GET", "/activations", "Lists activations.") { control, request, _ in
            let (backend, _) = await control.core.snapshot
            return .encoding(backend.activationPage(status: request.queryValue("status"), try .init(request)))
        },
        Route("GET", "/activations/{id}", "Shows an activation.") { control, _, arguments in
            .encoding(try await control.activation(arguments[0]))
        },
        Route("DELETE", "/activations/{id}", "Removes an activation.") { control, _, arguments in
            try await control.administer(.remove(activationID: arguments[0]), arguments[0])
        },
        Route("POST", "/activations/{id}/block", "Blocks an activation, for good or for a time.") {
            control,
            request,
            arguments in
            let seconds = request.body.isEmpty ? nil : try request.decoded(TemporaryBlock.self).seconds
            return try await control.block(arguments[0], for: seconds)
        },
        Route("POST", "/activations/{id}/unblock", "Unblocks an activation.") { control, _, arguments in
            try await control.administer(.unblock(activationID: arguments[0]), arguments[0])
        },
        Route("POST", "/activations/{id}/counter", "Moves an activation's counter ahead.") {
            control,
            request,
            arguments in
            let steps = try request.decoded(CounterChange.self).advance
            return try await control.administer(
                .advanceCounter(activationID: arguments[0], by: steps),
                arguments[0]
            )
        },
        // Whatever else is asked of an activation is asked with `POST`, too: another method is refused for itself.
        Route("POST", "/activations/{id}/{action}", "Refuses a change that there is not.") { _, _, _ in
            throw Refusal.unknownControlPath
        },
        Route("GET", "/operations", "Lists operations.") { control, request, _ in
            let (backend, now) = await control.core.snapshot
            return .encoding(backend.operationPage(status: request.queryValue("status"), try .init(request), at: now))
        },
        Route("GET", "/operations/{id}", "Shows an operation.") { control, _, arguments in
            .encoding(try await control.operation(arguments[0]))
        },
        Route("GET", "/messages", "Lists messages.") { control, request, _ in
            .encoding(await control.core.snapshot.backend.messagePage(try .init(request)))
        },
        Route("GET", "/messages/{id}", "Shows a message.") { control, _, arguments in
            .encoding(try await control.message(arguments[0]))
        },
        Route("GET", "/templates", "Lists the templates of operations.") { control, request, _ in
            .encoding(SummaryPage(await control.core.snapshot.backend.templates, try .init(request)) { $0 })
        },
    ]

    /// The cloud API in the name of its user, whose credentials the control API otherwise stands in for. Applications are
    /// shown with their keys.
    private static let cloudRoutes: [Route] =
        ["/cloud/applications", "/cloud/applications/**"].map { path in
            Route(RouteTable<Route>.anyMethod, path, needsCredentials: true, "Relays to the cloud API.", Self.relay)
        } + [Route(RouteTable<Route>.anyMethod, "/cloud/**", "Relays to the cloud API.", Self.relay)]

    private static let relay: Route.Handler = { control, request, _ in
        var relayed = request
        relayed.path = "/v2" + String(Substring(request.path.utf8.dropFirst("/_emulator/cloud".utf8.count)))
        return await control.core.relay(relayed)
    }
}
