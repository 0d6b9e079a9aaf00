import APIDescriptions
import CloudCalls
import EmulatorBackend
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    /// The past of operations, and what their users are shown.
    static let inspectionRoutes: [Route] = [
        Route(
            .control(
                "GET",
                "/operations/{id}/history",
                "Tells what happened to an operation.",
                takes: Call.segment("id"),
                gives: OperationHistory.form
            )
        ) { control, id in
            guard let moments = await control.core.history(ofOperation: id) else { throw Refusal.noSuchOperation }
            return OperationHistory(moments: moments)
        },
        Route(
            .control(
                "GET",
                "/operations/{id}/preview",
                "Shows an operation as a device would.",
                takes: Call.segment("id"),
                Call.query(PreviewLanguage.fields),
                gives: OperationPreview.form
            )
        ) { control, input in
            let (id, wanted) = input
            let backend = await control.core.snapshot.backend
            guard let preview = backend.preview(ofOperation: id, language: wanted.language) else {
                throw Refusal.noSuchOperation
            }
            return preview
        },
        Route(
            "POST",
            "/operations/preview",
            named: "previewOperation",
            "Shows an operation as a device would, without making it.",
            asks: PreviewLanguage.fields.members,
            takes: .required(NewCloudOperation.schema.strict),
            gives: .json(OperationPreview.schema),
            refuses: [404, 507]
        ) { control, request, _ in
            let (preview, reply) = await control.core.preview(of: request, language: request.queryValue("language"))
            return preview.map { .json($0.json) } ?? reply.response
        },
    ]
}

/// The language of a preview.
private struct PreviewLanguage: Described {
    var language: String?

    static let fields = FieldTable(
        "PreviewLanguage",
        Self.init(language:),
        .optional("language", \.language, .string, "The language wanted, such as cs.")
    )
}

extension Refusal {
    fileprivate static let noSuchOperation = Self(404, "ERROR_NOT_FOUND", "There is no such operation")
}
