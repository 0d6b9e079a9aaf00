import ForwardingStores
import Foundation
@testable import PowerAuth
import Synchronization

/// Keeps activations and receipts in memory, and can run out of room.
final class JournalingStore: ForwardingJournal {
    struct Row: Equatable {
        /// Without the time.
        let intent: DecisionIntent
        let moves: UInt64
        var outcome: DecisionOutcome.Result?
    }

    struct Full: Error {}

    let journal: any DecisionJournal = InMemoryActivationStore()
    private let state = Mutex<(rows: [Row], isFull: Bool)>(([], false))

    var rows: [Row] { self.state.withLock { $0.rows } }
    var isFull: Bool {
        get { self.state.withLock { $0.isFull } }
        set { self.state.withLock { $0.isFull = newValue } }
    }

    func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.base.update(activationID) { record in
            let before = record.history.moves
            let result = try change(&record)
            guard record.history.moves != before else { return result }
            let moves = record.history.moves
            try self.state.withLock { state in
                guard !state.isFull else { throw Full() }
                state.rows.append(Row(intent: intent.dated(.distantPast, serverDate: nil), moves: moves))
            }
            return result
        }
    }

    func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        self.state.withLock { state in
            for index in state.rows.indices where state.rows[index].moves == moves {
                state.rows[index].outcome = outcome.result
            }
        }
    }
}
