import CloudCalls
import EmulatorBackend
import EmulatorMessages
import Foundation

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
    /// The user whose activation a request named, or else of the one operation that it was about.
    func userID(of reply: Reply) -> String? {
        if let user = reply.activationID.flatMap({ self.state.activations[$0]?.userID }) { return user }
        let users = Set(reply.inspection.notes.map { self.state.operations[$0.operationID]?.userID })
        return users.count == 1 ? users.first ?? nil : nil
    }
}
