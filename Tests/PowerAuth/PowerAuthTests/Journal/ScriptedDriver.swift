import StoreTesting
import Synchronization

import PowerAuth

/// A store in memory that several journals share, and that fails, loses answers, commits late and goes back in time as told.
final class ScriptedDriver: ForwardingDriver {
    /// The calls that change something, or that a change depends on.
    enum Call: CaseIterable {
        case load, swap, append, insert, remove, receipts, setPause
    }

    enum Fault: CaseIterable {
        /// It throws, and nothing was done.
        case refused
        /// It throws what no other attempt will change.
        case broken
        /// It is carried out, and its answer is lost.
        case answerLost
        /// Its answer is lost, and it is carried out later, before the next call.
        case late
    }

    private struct State {
        var faults: [Call: [Fault]] = [:]
        var swapAnswers: [SwapAnswer] = []
        var appendAnswers: [AppendAnswer] = []
        var swaps: [RowChange] = []
        var appends: [SealedOutcome] = []
        var late: [@Sendable () async -> Void] = []
        var epoch: Int64 = 0
        var begunEpochs = 0
        var turns = 0
        var notAfter: ContinuousClock.Instant?
    }

    let memory: MemoryDriver
    var base: any JournalDriver { self.memory }
    private let marks: HighWaterMarks?
    private let state = Mutex(State())
    /// Called before each call of ``Call``, in the task that makes it.
    let hook = Mutex<(@Sendable (Call) async -> Void)?>(nil)
    private let afterLoad = Mutex<(@Sendable () async -> Void)?>(nil)

    init(marks: HighWaterMarks? = nil) {
        self.memory = MemoryDriver(marks: marks)
        self.marks = marks
    }

    // MARK: The script

    func next(_ call: Call, _ faults: Fault...) { self.state.withLock { $0.faults[call, default: []] += faults } }
    func nextSwaps(_ answers: [SwapAnswer]) { self.state.withLock { $0.swapAnswers += answers } }
    func nextAppends(_ answers: AppendAnswer...) { self.state.withLock { $0.appendAnswers += answers } }
    /// Runs `body` once, after the next load has found its row and before the journal has it.
    func afterNextLoad(_ body: @escaping @Sendable () async -> Void) { self.afterLoad.withLock { $0 = body } }

    func clear() { self.state.withLock { ($0.faults, $0.swapAnswers, $0.appendAnswers) = ([:], [], []) } }

    var swaps: [RowChange] { self.state.withLock { $0.swaps } }
    var appends: [SealedOutcome] { self.state.withLock { $0.appends } }
    var begunEpochs: Int { self.state.withLock { $0.begunEpochs } }
    var turnCount: Int { self.state.withLock { $0.turns } }
    var notAfter: ContinuousClock.Instant? {
        get { self.state.withLock { $0.notAfter } }
        set { self.state.withLock { $0.notAfter = newValue } }
    }
    var epoch: Int64 {
        get { self.state.withLock { $0.epoch } }
        set { self.state.withLock { $0.epoch = newValue } }
    }

    private func run<Answer: Sendable>(
        _ call: Call,
        _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        if let hook = self.hook.withLock({ $0 }) { await hook(call) }
        for late in self.state.withLock({ state in
            defer { state.late = [] }
            return state.late
        }) { await late() }
        let fault = self.state.withLock { state in
            state.faults[call]?.isEmpty == false ? state.faults[call]?.removeFirst() : nil
        }
        switch fault {
        case nil: return try await body()
        case .refused: throw MobileTokenError(.storeUnreachable, "as told")
        case .broken: throw MobileTokenError(.storeCorrupted, "as told")
        case .answerLost: _ = try await body()
        case .late: self.state.withLock { $0.late.append { _ = try? await body() } }
        }
        throw MobileTokenError(.storeOutcomeUnknown, "as told")
    }

    // MARK: The driver

    func open() async throws -> StoreFacts {
        var facts = try await self.base.open()
        facts.patience = .seconds(5)
        return facts
    }

    func load(_ activationID: String) async throws -> LoadedRow? {
        let row = try await self.run(.load) { [base, epoch] in
            var row = try await base.load(activationID)
            row?.epoch = epoch
            return row
        }
        if let after = self.afterLoad.withLock({ $0.take() }) { await after() }
        return row
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        self.state.withLock { $0.swaps.append(change) }
        return try await self.run(.swap) { [self] in
            let answer = self.state.withLock { $0.swapAnswers.isEmpty ? nil : $0.swapAnswers.removeFirst() }
            if let answer { return answer }
            guard change.epoch == self.epoch else { return .otherEpoch }
            return try await self.base.swap(change)
        }
    }

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        self.state.withLock { $0.appends.append(outcome) }
        return try await self.run(.append) { [self] in
            let answer = self.state.withLock { $0.appendAnswers.isEmpty ? nil : $0.appendAnswers.removeFirst() }
            if let answer { return answer }
            return try await self.base.append(outcome)
        }
    }

    func insert(_ row: NewRow) async throws -> InsertAnswer {
        try await self.run(.insert) { [base] in try await base.insert(row) }
    }

    func rehearse(_ row: NewRow) async throws -> Bool {
        try await self.run(.insert) { [base] in try await base.rehearse(row) }
    }

    func remove(_ activationID: String) async throws -> Int64? {
        try await self.run(.remove) { [base] in try await base.remove(activationID) }
    }

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        try await self.run(.receipts) { [base] in try await base.receipts(query) }
    }

    func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.run(.setPause) { [base] in try await base.setDecisionPause(pause) }
    }

    func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        self.state.withLock { $0.turns += 1 }
        return try await self.base.withTurn(of: activationID, slot: slot) { turn in
            try await body(Turn(slot: turn.slot, fence: turn.fence) { self.notAfter })
        }
    }

    func beginEpoch(after epoch: Int64) async throws -> Bool {
        self.state.withLock { $0.begunEpochs += 1 }
        return false
    }

    func overwriteDeleted() async throws {}
}
