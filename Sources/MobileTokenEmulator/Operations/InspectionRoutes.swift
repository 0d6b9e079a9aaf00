import APIDescriptions
import CloudCalls
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation

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
            guard let moments = await control.core.history(ofOperation: id) else { throw Refusal.noSuch("operation") }
            return OperationHistory(moments: moments)
        },
        Route(
            .control(
                "GET",
                "/operations/{id}/preview",
                "Shows an operation as a device would.",
                takes: Call.segment("id"),
                Call.query(PreviewLanguage.fields),
                gives: OperationPreview.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, wanted) = input
            let backend = await control.core.snapshot.backend
            guard let operation = backend.state.operations[id] else { throw Refusal.noSuch("operation") }
            guard let preview = backend.preview(ofOperation: id, language: wanted.language) else {
                throw Refusal.notShown(operation)
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
    /// The state came from a server with other templates.
    fileprivate static func notShown(_ operation: ServerOperation) -> Self {
        let name = if case .template(let name) = operation.content { name } else { operation.type }
        return Self(409, "ERROR_TEMPLATE", "The operation cannot be shown: there is no template '\(name)' that it fits")
    }
}

// The findings about requests and operations, for people.

extension EmulatorCore {
    func journalEntry(_ id: UInt64) -> Emulator.JournalEntry? { self.journal.entry(id) }

    /// Entries after one, and the number of the last there is, in one look: between two, one could be missed.
    func journal(
        since id: UInt64,
        limit: Int = .max,
        _ filter: Emulator.JournalFilter = .init()
    ) -> (entries: [Emulator.JournalEntry], lastID: UInt64) {
        (self.journal.entries(since: id, limit: limit, filter), self.journal.lastID)
    }

    func journal(
        before id: UInt64,
        limit: Int,
        _ filter: Emulator.JournalFilter = .init()
    ) -> (entries: [Emulator.JournalEntry], lastID: UInt64) {
        (self.journal.entries(before: id, limit: limit, filter), self.journal.lastID)
    }

    /// The number of entries that fulfil a filter.
    func journalCount(_ filter: Emulator.JournalFilter) -> Int { self.journal.count(filter) }

    /// Returns the past of an operation, oldest first; `nil` when there is no such operation.
    func history(ofOperation id: String) -> [Emulator.OperationMoment]? {
        guard let operation = self.snapshot.backend.state.operations[id] else { return nil }
        var moments = self.journal.moments(ofOperation: operation.id)
        if operation.status == .expired {
            let time = Date(milliseconds: operation.expires)
            moments.append(.init(kind: .expired, time: time, count: 1, last: time))
        }
        return moments
    }

    /// Tells how an operation would be shown that is not made.
    ///
    /// - Parameter request: One that would make it through the cloud API.
    /// - Returns: The preview, if the request would be granted, and the reply to it.
    func preview(of request: ReceivedRequest, language: String?) -> (preview: OperationPreview?, reply: Reply) {
        var request = request
        request.path = "/v2/operations"
        // The state is a value: a copy can be asked and thrown away.
        var (trial, now) = self.snapshot
        let reply = trial.reply(to: request, from: .process, at: now)
        let made = reply.inspection.notes.first { $0.kind == .created }
        return (made.flatMap { trial.preview(ofOperation: $0.operationID, language: language) }, reply)
    }
}

extension Backend {
    /// The user whose activation a request named, or else the user that it named, or else of the one operation that it was about.
    func userID(of reply: Reply) -> String? {
        if let user = reply.activationID.flatMap({ self.state.activations[$0]?.userID }) { return user }
        if let user = reply.userID { return user }
        let users = Set(reply.inspection.operationIDs.map { self.state.operations[$0]?.userID })
        return users.count == 1 ? users.first ?? nil : nil
    }
}

extension Emulator {
    /// Returns what happened to an operation, oldest first: who made it, which devices were shown it, and what they decided
    /// with which factors, as far as it is remembered.
    ///
    /// It follows from the journal, and goes back as far as that does.
    ///
    /// - Parameter id: The operation's identifier.
    /// - Returns: Nothing for an operation that there is not, or that was made before the server started.
    public func history(ofOperation id: String) async -> [OperationMoment] {
        await self.core.history(ofOperation: id) ?? []
    }

    /// The requests of the journal that a filter asks for, oldest first: those after the entry numbered `id`.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration` for a filter that no request can fulfil.
    public func journal(
        matching filter: JournalFilter,
        since id: UInt64 = 0
    ) async throws(EmulatorError) -> [JournalEntry] {
        try filter.check()
        return await self.core.journal(since: id, filter).entries
    }
}
