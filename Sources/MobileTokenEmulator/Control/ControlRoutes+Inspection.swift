import CloudCalls
import EmulatorBackend
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    /// What was found out about requests and operations.
    static let inspectionRoutes: [Route] = [
        Route(
            "GET",
            "/operations/{id}/history",
            "Tells what happened to an operation.",
            gives: .json(.operationHistory)
        ) { control, _, arguments in
            guard let moments = await control.core.history(ofOperation: arguments[0]) else {
                throw Refusal.noSuchOperation
            }
            return .encoding(["moments": moments])
        },
        Route(
            "GET",
            "/operations/{id}/preview",
            "Shows an operation as a device would.",
            asks: [.language],
            gives: .json(.operationPreview)
        ) { control, request, arguments in
            let backend = await control.core.snapshot.backend
            let language = request.queryValue("language")
            guard let preview = backend.preview(ofOperation: arguments[0], language: language) else {
                throw Refusal.noSuchOperation
            }
            return .json(preview.json)
        },
        Route(
            "POST",
            "/operations/preview",
            "Shows an operation as a device would, without making it.",
            asks: [.language],
            takes: .required(NewCloudOperation.schema.strict),
            gives: .json(.operationPreview),
            refuses: [404, 507]
        ) { control, request, _ in
            let (preview, reply) = await control.core.preview(of: request, language: request.queryValue("language"))
            return preview.map { .json($0.json) } ?? reply.response
        },
    ]
}

extension OperationPreview {
    fileprivate var json: JSONValue {
        [
            "language": .string(self.language), "languages": .array(self.languages.map { .string($0) }),
            "operation": self.operation,
        ]
    }
}

extension Refusal {
    fileprivate static let noSuchOperation = Self(404, "ERROR_NOT_FOUND", "There is no such operation")
}
