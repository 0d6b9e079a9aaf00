import APIDescriptions
import EmulatorBackend
import EmulatorMessages
import Foundation
import MobileTokenCloud

struct OperationHistory: Described {
    var moments: [Emulator.OperationMoment]
    var awaited: String?
    var expiresIn: Double?

    static let fields = FieldTable(
        "OperationHistory",
        Self.init(moments:awaited:expiresIn:),
        .required("moments", \.moments, .list(of: Emulator.OperationMoment.fields.inlined)),
        .optional("awaited", \.awaited, .string, "The device that it waits for, or the reason why none decides it."),
        .optional("expiresIn", \.expiresIn, .number, "The time left to decide it.", unit: .seconds)
    )
}

extension ControlAPI {
    /// The history of operations, and their presentation to users.
    static let inspectionRoutes: [Route] = [
        Route(
            "GET /operations/{id}/history",
            "Tells what happened to an operation, with its push messages and each attempt of its callbacks, and what it waits for.",
            takes: Call.segment("id"),
            gives: OperationHistory.form
        ) { control, id in try await control.core.history(ofOperation: id).found("operation") },
        Route(
            "GET /operations/{id}/preview",
            "Shows an operation as a device would.",
            takes: Call.segment("id"),
            Call.query(Self.previewLanguage),
            gives: OperationPreview.form,
            refuses: [409]
        ) { control, id, language in
            let backend = await control.core.snapshot.backend
            let operation = try backend.state.operations[id].found("operation")
            guard let preview = try backend.preview(ofOperation: id, language: language) else {
                throw Refusal.notShown(operation)
            }
            return preview.reviewed
        },
        Route(
            "POST /operations/preview",
            named: "previewOperation",
            "Shows an operation as a device would, without making it.",
            asks: Self.previewLanguage.members,
            takes: .required(CloudClient.NewOperation.schema.strict),
            gives: .json(OperationPreview.schema),
            refuses: [404, 507]
        ) { control, request, _ in
            let (preview, reply) = await control.core.preview(of: request, language: request.queryValue("language"))
            return preview.map { .json($0.json) } ?? reply.response
        },
    ]

    private static let previewLanguage = FieldTable<String?>(
        "PreviewLanguage",
        .optional("language", \.self, .string, "The language wanted, such as cs.")
    )
}

extension Refusal {
    /// The state came from a server with other templates.
    fileprivate static func notShown(_ operation: ServerOperation) -> Self {
        let name = if case .template(let name) = operation.content { name } else { operation.type }
        return Self(409, "ERROR_TEMPLATE", "The operation cannot be shown: there is no template '\(name)' that it fits")
    }
}

// Information about requests and operations, for people.

extension EmulatorCore {
    func journalEntry(_ id: UInt64) -> Emulator.JournalEntry? { self.journal.entry(id) }

    /// The entries after a number, and the last number, in one call, so that none is missed in between.
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

    func journalCount(_ filter: Emulator.JournalFilter) -> Int { self.journal.count(filter) }

    /// Returns an operation's history, oldest first; `nil` if there is no such operation.
    func history(ofOperation id: String) -> OperationHistory? {
        guard let operation = self.snapshot.backend.state.operations[id] else { return nil }
        var moments = self.journal.moments(ofOperation: operation.id)
        // The journal forgets, and what a scenario makes is not in it.
        if !moments.contains(where: { $0.kind == .created }) {
            moments.insert(.init(.created, at: operation.created), at: 0)
        }
        if operation.status == .expired {
            moments.insert(.init(.expired, at: operation.expires), at: moments.place(of: operation.expires))
        }
        for push in self.pushes.newestFirst.reversed() where push.payload.contains(operation.id) {
            moments.insert(.init(push), at: moments.place(of: push))
        }
        let outbox = self.callbackQueue.outbox
        var isNewer: Set<UInt64> = []
        for index in moments.indices.reversed() {
            guard let id = moments[index].deliveryID, let delivery = outbox[id] else { continue }
            moments[index].attempts = delivery.message.maximumAttempts
            if isNewer.insert(id).inserted { moments[index].next = delivery.due.map(Date.init(milliseconds:)) }
        }
        var history = OperationHistory(moments: moments)
        if operation.status == .pending {
            history.awaited = self.awaited(operation)
            history.expiresIn = Double(operation.expires - self.now.milliseconds) / 1000
        }
        return history
    }

    /// Returns a preview of an operation without creating it.
    ///
    /// - Parameter request: A cloud API request that would create it.
    /// - Returns: The preview, if the request would succeed, and its reply.
    func preview(of request: ReceivedRequest, language: String?) -> (preview: OperationPreview?, reply: Reply) {
        var request = request
        request.path = "/v2/operations"
        // The state is a value: a copy executes the request and is dropped.
        var (trial, now) = self.snapshot
        let reply = trial.reply(to: request, from: .process, at: now)
        let made = reply.inspection.notes.first { $0.kind == .created }
        guard let made else { return (nil, reply) }
        do throws(Refusal) {
            return (try trial.preview(ofOperation: made.operationID, language: language)?.reviewed, reply)
        } catch {
            return (nil, .error(error.status, code: error.code, message: error.message, because: error.reason))
        }
    }
}

extension [Emulator.OperationMoment] {
    /// The place of what happened at a time, before the callbacks that tell of it.
    fileprivate func place(of time: Milliseconds) -> Int {
        let time = Date(milliseconds: time)
        return self.firstIndex { $0.time > time || $0.time == time && $0.deliveryID != nil } ?? self.count
    }

    /// The place of a push message: that of a new operation follows its creation, even if the clock stands still.
    fileprivate func place(of push: Emulator.PushSummary) -> Int {
        let isFirst = push.type == PushMessage.Kind.operationInit.rawValue
        return self.firstIndex { moment in
            moment.time > push.created
                || isFirst && moment.time == push.created && ![.created, .pushed].contains(moment.kind)
        } ?? self.count
    }
}

extension Backend {
    /// The user a request concerns: the activation's owner, else the named user, else the owner of its only operation.
    func userID(of reply: Reply) -> String? {
        if let user = reply.activationID.flatMap({ self.state.activations[$0]?.userID }) { return user }
        if let user = reply.userID { return user }
        let users = Set(reply.inspection.operationIDs.map { self.state.operations[$0]?.userID })
        return users.count == 1 ? users.first ?? nil : nil
    }
}

extension Emulator {
    /// Returns an operation's history, oldest first: its creation, its push messages, the devices it was shown on, their
    /// decisions with the factors, and each attempt of its callbacks.
    ///
    /// It is derived from the journal, and reaches back as far.
    ///
    /// - Parameter id: The operation's identifier.
    /// - Returns: An empty array for an unknown operation.
    public func history(ofOperation id: String) async -> [OperationMoment] {
        await self.core.history(ofOperation: id)?.moments ?? []
    }

    /// Returns the device that a pending operation waits for, or the reason why none decides it.
    package func awaited(ofOperation id: String) async -> String? {
        guard let history = await self.core.history(ofOperation: id), let awaited = history.awaited else { return nil }
        return "\(awaited); it expires in \(history.expiresIn ?? 0) s"
    }

    /// The journal entries after the entry numbered `id` that match a filter, oldest first.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration` for a filter that no request can match.
    public func journal(
        matching filter: JournalFilter,
        since id: UInt64 = 0
    ) async throws(EmulatorError) -> [JournalEntry] {
        try filter.check()
        return await self.core.journal(since: id, filter).entries
    }
}
