import Foundation
import StoreTesting
import MobileTokenTesting
import Synchronization
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// Three journals on one store, and chance: calls that fail, whose answers are lost, that are carried out late or are overtaken,
/// and a store that goes back in time.
///
/// `POWERAUTH_TEST_SEED` repeats a run, and `POWERAUTH_MODEL_STEPS` adds further stores: a million steps are some 670 of them.
@Suite(.timeLimit(.minutes(60)))
struct JournalModelTests {
    private static let stepCount =
        ProcessInfo.processInfo.environment["POWERAUTH_MODEL_STEPS"].flatMap { Int($0) } ?? Self.stepsOfStore
    /// Few enough that a store stays small: every backup is compared and copied whole.
    private static let stepsOfStore = 1_500

    @Test func noValueIsUsedTwiceAndNoReceiptIsAnothers() async throws {
        var generator = SeededGenerator()
        for _ in stride(from: 0, to: Self.stepCount, by: Self.stepsOfStore) {
            let folder = try TemporaryFolder()
            let marks = try HighWaterMarks(in: LockFile(creating: folder.file("marks")))
            let model = Model(marks, SeededGenerator(seed: generator.seed))
            for id in Model.ids { try await model.journals[0].insert(ActivationStoreConformance.sparseRecord(id)) }
            model.begin()
            for _ in 0..<Self.stepsOfStore { await model.step(avoiding: []) }
            try await model.check()
            generator = SeededGenerator(seed: generator.next())
        }
    }
}

private final class Model: Sendable {
    static let ids = ["a", "b"]
    private static let key = SecureRandom.secret(Sealing.keyByteCount)
    private static let nothingSent = DecisionOutcome.Result.refused(
        code: MobileTokenError.Code.storeOutcomeUnknown.description,
        serverCode: nil
    )

    private struct State {
        var generator: SeededGenerator
        /// The values that something was signed with.
        var used: Set<String> = []
        /// The outcomes that callers were told to be written, by operation, and when.
        var told: [String: DecisionOutcome.Result] = [:]
        /// Decisions whose outcome is not known yet.
        var open: [(id: String, move: UInt64, operation: String, journal: Int)] = []
        /// The operations that nothing was signed for.
        var unsigned: Set<String> = []
        var operationCount = 0
        var backups: [MemoryDriver.Contents] = []
        var faults: [String] = []
    }

    private let driver: ScriptedDriver
    let journals: [ActivationStore]
    private let state: Mutex<State>
    private let seed: String
    /// The journals that are in the middle of something, in the task that asks.
    @TaskLocal private static var busy: Set<Int> = []
    /// The activations whose turn it has.
    @TaskLocal private static var turns: Set<String> = []

    init(_ marks: HighWaterMarks, _ generator: SeededGenerator) {
        self.state = Mutex(State(generator: generator))
        self.seed = "\(generator)"
        let driver = ScriptedDriver(marks: marks)
        self.driver = driver
        self.journals = (0..<3).map { _ in
            ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
        }
    }

    /// Lets other journals come in between from now on.
    func begin() {
        self.driver.hook.withLock { hook in
            hook = { [weak self] _ in
                guard let self, Self.busy.count < 3, self.chance(1, in: 4) else { return }
                await self.step(avoiding: Self.busy)
            }
        }
    }

    private func chance(_ count: Int, in total: Int) -> Bool {
        self.state.withLock { Int.random(in: 0..<total, using: &$0.generator) < count }
    }

    private func random<Element: Sendable>(_ elements: [Element]) -> Element? {
        self.state.withLock { elements.randomElement(using: &$0.generator) }
    }

    func step(avoiding busy: Set<Int>) async {
        guard let number = self.random(Set(0..<3).subtracting(busy).sorted()) else { return }
        await Self.$busy.withValue(busy.union([number])) {
            if self.chance(1, in: 8), let call = self.random(ScriptedDriver.Call.allCases),
                let fault = self.random(ScriptedDriver.Fault.allCases)
            {
                self.driver.next(call, fault)
            }
            let journal = self.journals[number]
            switch self.random(Array(0..<20)) ?? 0 {
            case 0..<10: await self.decide(with: journal, number)
            case 10..<16: await self.end(journal, number)
            case 16: _ = try? await journal.update(self.random(Self.ids) ?? "a") { $0.name = "\($0.counterMoves)" }
            case 17: _ = try? await journal.openDecisions(of: "a")
            case 18: self.state.withLock { $0.backups = [self.driver.memory.snapshot] + $0.backups.prefix(3) }
            default: if busy.isEmpty, self.chance(1, in: 4) { self.goBack() }
            }
        }
    }

    private func decide(with journal: ActivationStore, _ number: Int) async {
        guard let id = self.random(Set(Self.ids).subtracting(Self.turns).sorted()) else { return }
        let operation = self.state.withLock { state in
            state.operationCount += 1
            return "\(state.operationCount)"
        }
        let intent = ActivationStoreConformance.intent(id, operation).dated(Date(), serverDate: nil)
        let move = try? await Self.$turns.withValue(Self.turns.union([id])) {
            try await journal.withSigningTurn(of: id) { turn in
                try await turn.update(recording: intent) { $0.takeMove() + 1 }
            }
        }
        guard let move else {
            self.state.withLock { _ = $0.unsigned.insert(operation) }
            return
        }
        let isNew = self.state.withLock { state in
            state.open.append((id, move, operation, number))
            return state.used.insert("\(id) \(move)").inserted
        }
        #expect(isNew, "\(self.seed), \(id): a signature was made with value \(move) twice")
    }

    /// The server answers, or a status tells.
    private func end(_ journal: ActivationStore, _ number: Int) async {
        let decision = self.state.withLock { state -> (id: String, move: UInt64, operation: String, journal: Int)? in
            guard
                let index = state.open.indices.filter({ state.open[$0].journal == number }).randomElement(
                    using: &state.generator
                )
            else { return nil }
            return state.open.remove(at: index)
        }
        guard let decision else { return }
        let result = self.random([DecisionOutcome.Result.accepted, .refused(code: decision.operation, serverCode: nil)])
        // The date tells which operation it is of.
        let date = Date(timeIntervalSince1970: Double(decision.operation) ?? 0)
        let outcome = DecisionOutcome(result ?? .accepted, localDate: date, serverDate: nil)
        try? await journal.record(outcome, ofMove: decision.move, of: decision.id)
        // Written now, or kept by the journal until it is.
        self.state.withLock { $0.told[decision.operation] = outcome.result }
    }

    private func goBack() {
        guard let backup = self.state.withLock({ state in state.backups.randomElement(using: &state.generator) }) else {
            return
        }
        self.driver.memory.snapshot = backup
        // Receipts that were told before may be gone. Those still open are in the journal's memory, and come again with their
        // outcomes.
        self.state.withLock { state in
            state.backups = []
            state.told = [:]
        }
    }

    func check() async throws {
        self.driver.hook.withLock { $0 = nil }
        self.driver.clear()
        var results: [String: DecisionOutcome.Result] = [:]
        for journal in self.journals { _ = try await journal.openDecisions(of: "a") }
        for receipt in try await self.journals[0].receipts(of: nil, after: 0, limit: .max) {
            guard let operation = receipt.intent.personalData?.operationID, let outcome = receipt.outcome else {
                continue
            }
            // A journal writes by itself that nothing was sent of an intent whose own write it had no answer for, and that a restore
            // took what it knew of an open one.
            let isItsOwn =
                outcome.localDate.timeIntervalSince1970 == Double(operation) || outcome.result == .evidenceLost
                || outcome.result == Self.nothingSent && self.state.withLock { $0.unsigned.contains(operation) }
            #expect(isItsOwn, "\(self.seed): the outcome of another operation")
            if outcome.result.weight > results[operation]?.weight ?? 0 { results[operation] = outcome.result }
        }
        for (operation, told) in self.state.withLock({ $0.told }) {
            #expect(results[operation] == told, "\(self.seed), operation \(operation): what was told is lost")
        }
        #expect(self.state.withLock { $0.used.count } > 100, "\(self.seed)")
        #expect(results.count > 50, "\(self.seed)")
    }
}
