import APIDescriptions
import EmulatorBackend
import EmulatorMessages

extension ControlAPI {
    /// Further calls for scripts.
    static let scriptRoutes: [Route] = [
        Route(
            "POST /scenario",
            named: "playScenario",
            "Makes all that a scenario asks for, or nothing.",
            takes: .document(.scenario),
            gives: .json(.playedScenario),
            refuses: [404, 409, 507]
        ) { control, request, _ in
            .json(try await control.core.play(try Scenario(parsing: request.body)))
        },
        Route(
            "GET /templates",
            "Lists the templates of operations.",
            takes: Call.query(PageBounds.fields),
            gives: SummaryPage<Emulator.TemplateSummary>.form("TemplateSummaries")
        ) { control, bounds in SummaryPage(await control.core.snapshot.backend.templates, bounds) { $0 } },
        Route(
            "POST /templates",
            "Adds a template, or replaces the one of its name, until a reset or an import.",
            takes: .document(.template),
            gives: .json(.template),
            refuses: [409, 507]
        ) { control, request, _ in
            .json(try await control.core.addTemplate(request.body).document)
        },
        Route(
            "GET /templates/{name}",
            "Shows a template as it came.",
            takes: Call.segment("name"),
            gives: Form.json(.template)
        ) { control, name in
            try await control.core.snapshot.backend.operationTemplates[name].found("template").document
        },
        Route(
            "DELETE /templates/{name}",
            "Removes a template, until a reset or an import.",
            takes: Call.segment("name"),
            gives: Form.done,
            refuses: [409]
        ) { control, name in try await control.core.removeTemplate(name) },
    ]
}

extension EmulatorCore {
    /// - Parameter document: The template as JSON. An error in it is refused with its line.
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
