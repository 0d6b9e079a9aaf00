import Foundation
import MobileTokenTesting
import PowerAuth
import PowerAuthCrypto
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(4)))
struct StoreConformanceTests {
    @Test(arguments: ActivationStoreConformance.allCases)
    func theStoreInMemoryConforms(to requirement: ActivationStoreConformance) async throws {
        try await requirement.check { InMemoryActivationStore() }
    }

    @Test(arguments: ActivationStoreConformance.allCases)
    func theSQLiteStoreConforms(to requirement: ActivationStoreConformance) async throws {
        let folder = try TemporaryFolder()
        try await requirement.check {
            SQLiteActivationStore(path: folder.file("store.sqlite"))
        } openAgain: { _ in
            SQLiteActivationStore(path: folder.file("store.sqlite"))
        }
    }

    @Test(arguments: ActivationStoreConformance.allCases)
    func aStoreOfOnesOwnThatKeepsSealedFieldsConforms(to requirement: ActivationStoreConformance) async throws {
        let sealing = try Sealing(key: SecretBytes(copying: [UInt8](repeating: 7, count: 32)))
        try await requirement.check { SealedDictionaryStore(sealing: sealing) }
    }

    @Test func theWholeSuiteRunsInOneCall() async throws {
        try await ActivationStoreConformance.run { InMemoryActivationStore() }
    }
}

/// What a user might write: public API only.
private actor SealedDictionaryStore: DecisionJournal {
    private let sealing: Sealing
    private let gates = InMemoryActivationStore()
    private var activations: [SealedActivation] = []
    /// The entry of number 1 is the first.
    private var receipts: [Row] = []
    private var pause: DecisionPause?

    private struct Row {
        var sealed: SealedReceipt
        /// The number of the intent, for an outcome.
        var intent: UInt64?
        /// The number of the latest outcome, for an intent.
        var outcome: UInt64?
        var isOpen: Bool
    }

    init(sealing: Sealing) { self.sealing = sealing }

    func activationIDs() async throws -> [String] { self.activations.map(\.activationID) }

    func record(of activationID: String) async throws -> ActivationRecord? {
        try self.activations.first { $0.activationID == activationID }.map { try self.sealing.open($0) }
    }

    func insert(_ record: ActivationRecord) async throws {
        try await self.gates.insert(record)  // refuses a second one
        self.activations.append(try self.sealing.seal(record))
    }

    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try self.change(activationID, recording: nil, change)
    }

    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try self.change(activationID, recording: intent, change)
    }

    private func change<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) throws -> Result {
        if intent?.isAutomatic == true, self.pause != nil { throw MobileTokenError(.decidingPaused, "not now") }
        guard let index = self.activations.firstIndex(where: { $0.activationID == activationID }) else {
            throw MobileTokenError(.activationNotStored, "not there")
        }
        let (changes, (result, moves)) = try self.sealing.change(self.activations[index]) { record in
            let before = record.counterMoves
            let result = try change(&record)
            return (result, record.counterMoves == before ? nil : record.counterMoves)
        }
        if let intent, let moves {
            self.receipts.append(Row(sealed: try self.sealing.seal(intent, ofMove: moves), isOpen: true))
        }
        self.activations[index] = self.activations[index].applying(changes)
        return result
    }

    func remove(_ activationID: String) async throws {
        self.activations.removeAll { $0.activationID == activationID }
        try await self.gates.remove(activationID)
    }

    func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.gates.withSigningTurn(of: activationID) { _ in
            try await body(SigningTurn(of: activationID, in: self))
        }
    }

    // MARK: Receipts

    func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        let index = self.receipts.lastIndex { row in
            row.intent == nil && row.sealed.activationID == activationID && row.sealed.moves == moves
        }
        guard let index else { return }
        let known = try self.receipts[index].outcome.map {
            try self.sealing.openOutcome(self.receipts[Int($0) - 1].sealed)
        }
        guard outcome.replaces(known) else { return }
        let sealed = try self.sealing.seal(outcome, ofMove: moves, of: activationID)
        self.receipts.append(Row(sealed: sealed, intent: UInt64(index + 1), isOpen: false))
        self.receipts[index].outcome = UInt64(self.receipts.count)
        self.receipts[index].isOpen = outcome.isOpen
    }

    func decisionPause() async throws -> DecisionPause? { self.pause }
    func setDecisionPause(_ pause: DecisionPause?) async throws { self.pause = pause }

    func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try self.receipts.filter { $0.isOpen && $0.sealed.activationID == activationID }.compactMap { row in
            try self.sealing.openIntent(row.sealed).intent.map { OpenDecision($0, moves: row.sealed.moves) }
        }
    }

    func receipts(of activationID: String?, after number: UInt64, limit: Int) async throws -> [DecisionReceipt] {
        let rows = self.receipts.enumerated().filter { index, row in
            row.intent == nil && index >= number && (activationID ?? row.sealed.activationID) == row.sealed.activationID
        }
        return try rows.prefix(limit).map { index, row in
            DecisionReceipt(
                number: UInt64(index + 1),
                intent: try self.sealing.openIntent(row.sealed),
                outcome: try row.outcome.map { try self.sealing.openOutcome(self.receipts[Int($0) - 1].sealed) }
            )
        }
    }

    func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        try self.receipts.enumerated().dropFirst(Int(number)).prefix(limit).map { index, row in
            guard let intent = row.intent else {
                return ReceiptEntry(number: UInt64(index + 1), .intent(try self.sealing.openIntent(row.sealed)))
            }
            let outcome = try self.sealing.openOutcome(row.sealed)
            return ReceiptEntry(number: UInt64(index + 1), .outcome(outcome, ofIntent: intent))
        }
    }

    func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        let selected = self.receipts.filter { row in
            row.intent == nil && row.sealed.personalData != nil
                && (selection.activationID ?? row.sealed.activationID) == row.sealed.activationID
                && row.sealed.date < selection.decidedBefore ?? .distantFuture
        }
        for row in selected where row.isOpen {
            let unknown = DecisionOutcome(.unknown, localDate: Date(), serverDate: nil)
            try await self.record(unknown, ofMove: row.sealed.moves, of: row.sealed.activationID)
        }
        for row in selected {
            guard let index = self.receipts.firstIndex(where: { $0.sealed == row.sealed }) else { continue }
            self.receipts[index].sealed = SealedReceipt(
                activationID: row.sealed.activationID,
                moves: row.sealed.moves,
                date: row.sealed.date,
                body: row.sealed.body,
                personalData: nil
            )
        }
        return selected.count
    }
}
