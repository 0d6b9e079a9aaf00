import StoreTesting
import Foundation
import PowerAuth
import Synchronization

/// A driver in memory that tells what was written so far, and can run out of room for intents.
final class JournalingDriver: ForwardingDriver {
    struct Row: Equatable {
        /// Without the time.
        let intent: DecisionIntent
        let moves: UInt64
        var outcome: DecisionOutcome.Result?
    }

    struct Full: Error {}

    let base: any JournalDriver = MemoryDriver()
    private let sealing: Sealing
    private let state = Mutex<(rows: [Row], isFull: Bool)>(([], false))

    private init(_ sealing: Sealing) { self.sealing = sealing }

    static func inMemory() throws -> (driver: JournalingDriver, store: ActivationStore) {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        let driver = JournalingDriver(try Sealing(key: key))
        return (driver, ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { key })))
    }

    var rows: [Row] { self.state.withLock { $0.rows } }
    var isFull: Bool {
        get { self.state.withLock { $0.isFull } }
        set { self.state.withLock { $0.isFull = newValue } }
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        guard let sealed = change.intent else { return try await self.base.swap(change) }
        if self.isFull { throw Full() }
        let answer = try await self.base.swap(change)
        guard answer == .written, let intent = try self.sealing.openIntent(sealed).decision else { return answer }
        let row = Row(intent: intent.dated(.distantPast, serverDate: nil), moves: sealed.moves)
        self.state.withLock { $0.rows.append(row) }
        return answer
    }

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        let result = try self.sealing.openOutcome(outcome.sealed).result
        self.state.withLock { state in
            for index in state.rows.indices where state.rows[index].moves == outcome.sealed.moves {
                state.rows[index].outcome = result
            }
        }
        return try await self.base.append(outcome)
    }
}
