import EmulatorBackend
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    /// What scripts use beside the rest.
    static let scriptRoutes: [Route] = [
        Route(
            "POST",
            "/scenario",
            "Makes all that a scenario asks for, or nothing.",
            takes: .document(.scenario),
            gives: .json(.playedScenario),
            refuses: [404, 409, 507]
        ) { control, request, _ in
            .json(try await control.core.play(try Scenario(parsing: request.body)))
        },
        Route("GET", "/templates", "Lists the templates of operations.", asks: .page, gives: .json(.templates)) {
            control,
            request,
            _ in
            .encoding(SummaryPage(await control.core.snapshot.backend.templates, try .init(request)) { $0 })
        },
        Route(
            "POST",
            "/templates",
            "Adds a template, or replaces the one of its name, until a reset or an import.",
            takes: .document(.template),
            gives: .json(.template),
            refuses: [409, 507]
        ) { control, request, _ in
            .json(try await control.core.addTemplate(request.body).document)
        },
        Route("GET", "/templates/{name}", "Shows a template as it came.", gives: .json(.template)) {
            control,
            _,
            arguments in
            guard let template = await control.core.snapshot.backend.operationTemplates[arguments[0]] else {
                throw Refusal(404, "TEMPLATE_NOT_FOUND", "There is no such template")
            }
            return .json(template.document)
        },
        Route("DELETE", "/templates/{name}", "Removes a template, until a reset or an import.", refuses: [409]) {
            control,
            _,
            arguments in
            try await control.core.removeTemplate(arguments[0])
            return .ok
        },
        Route(
            "GET",
            "/deliveries/feed",
            "Tells the deliveries since one, oldest first; with wait, as soon as there is one.",
            asks: [.since, .run, .wait, .feedLimit],
            gives: .json(.deliveryFeed)
        ) { control, request, _ in
            try await control.deliveryFeed(request)
        },
        Route(
            "POST",
            "/deliveries/{id}/outcome",
            "Takes note of what became of a delivery that a listener has made.",
            takes: .required(.collectedDelivery),
            gives: .json(.deliverySummary),
            refuses: [409]
        ) { control, request, arguments in
            try await control.noteCollection(of: arguments[0], request.decoded())
        },
        Route(
            "POST",
            "/listeners",
            "Sees to it that there are callbacks, and pushes if asked for, that are not sent but left to listeners.",
            takes: .optional(.listener),
            refuses: [507]
        ) { control, request, _ in
            let listener = request.body.isEmpty ? Listener() : try request.decoded(Listener.self)
            try await control.core.serve(listener)
            return .ok
        },
    ]

    /// What a listener wants to be told.
    struct Listener: Decodable {
        var pushes: Bool?
    }
}

extension EmulatorCore {
    func serve(_ listener: ControlAPI.Listener) async throws {
        try await self.change { state in
            try state.backend.addListenerCallbacks()
            return ((), [])
        }
        if listener.pushes == true { self.leavesPushesToListeners = true }
    }

    func play(_ scenario: Scenario) async throws -> JSONValue {
        let configuration = self.configuration
        return try await self.change { try scenario.apply(to: &$0, configuration) }
    }

    /// - Parameter document: What is wrong in it is refused with its line.
    func addTemplate(_ document: [UInt8]) async throws -> OperationTemplate {
        let template: OperationTemplate
        do { template = try OperationTemplate(parsing: document) } catch { throw Refusal.invalidRequest(error.message) }
        try await self.changeTemplates { try $0.insert(template) }
        return template
    }

    func removeTemplate(_ name: String) async throws {
        try await self.changeTemplates { try $0.removeTemplate(name) }
    }

    private func changeTemplates(_ body: @Sendable (inout Backend) throws -> Void) async throws {
        try await self.change(telling: .templates) { state in
            try body(&state.backend)
            return ((), [])
        }
    }
}

extension RouteDescription.Parameter {
    static let run = Self(
        "run",
        .string,
        "The run of the server that `since` is of; another one tells all that it has, at once."
    )
    static let wait = Self("wait", .integer(0...60), "For how many seconds to wait until there is one.")
    static let feedLimit = Self("limit", .integer(1...1000), "How many at most; 100 by default.")
}

extension Schema {
    static let deliveryFeed = Self.object(
        "DeliveryFeed",
        [
            .required("items", .list(of: .deliverySummary)),
            .required("last", .count, "The number of the newest delivery, for the next `since`."),
            .required("run", .string, "Which run of the server has numbered them."),
        ]
    )

    static let listener = Self.object(
        "Listener",
        [.optional("pushes", .boolean, "Whether it wants what would be pushed to devices too; not by default.")]
    )

    static let collectedDelivery = Self.object(
        "CollectedDelivery",
        [
            .optional("status", .integer(100...599), "That of the response."),
            .optional("failure", .string, "Why there was no response."),
        ]
    )
}
