import Coordination
import Foundation
import StoreTesting
import MobileTokenTesting
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// The rules of a journal that hold whatever its driver does.
@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
    private let folder: TemporaryFolder
    private let marks: HighWaterMarks
    private let driver: ScriptedDriver
    private let one: ActivationStore
    private let other: ActivationStore

    init() async throws {
        self.folder = try TemporaryFolder()
        self.marks = HighWaterMarks(in: try LockFile(creating: self.folder.file("marks")))
        self.driver = ScriptedDriver()
        self.one = Self.journal(self.driver)
        self.other = Self.journal(self.driver)
        try await self.one.insert(ActivationStoreConformance.sparseRecord("a"))
    }

    private static let key = SecureRandom.secret(Sealing.keyByteCount)

    private static func journal(_ driver: ScriptedDriver) -> ActivationStore {
        ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
    }

    private func intent(_ operation: String = "1") -> DecisionIntent {
        ActivationStoreConformance.intent("a", operation)
    }

    /// An intent of now: what is older is not written again when it is missing.
    private func recentIntent(_ operation: String = "1") -> DecisionIntent {
        self.intent(operation).dated(Date(), serverDate: nil)
    }

    private func outcome(_ result: DecisionOutcome.Result) -> DecisionOutcome {
        ActivationStoreConformance.outcome(result)
    }

    // MARK: Tags

    /// A count comes back with a backup: then a state that was kept would be the basis of a swap again, and values be used twice.
    @Test func aStateThatWasKeptIsNoBasisOfARowThatCameBack() async throws {
        let backup = self.driver.memory.snapshot
        for number in 0..<5 { try await self.one.update("a") { $0.name = "\(number)" } }
        self.driver.memory.snapshot = backup
        // As many changes as the other journal has seen, of another kind.
        for _ in 0..<5 { try await self.other.update("a") { $0.takeMove() } }
        #expect(try await self.one.update("a") { $0.takeMove() } == 5)
        #expect(Set(self.driver.swaps.map(\.newTag)).count == self.driver.swaps.count)
    }

    // MARK: What is kept

    @Test func whatEndsWithoutASwapIsDecidedOfALoadedRow() async throws {
        struct Obstacle: Error, Equatable { let name: String? }
        try await self.one.update("a") { $0.name = "mine" }
        try await self.other.update("a") { $0.name = "theirs" }
        #expect(try await self.one.update("a") { $0.name } == "theirs")
        try await self.other.update("a") { $0.name = "theirs again" }
        await #expect(throws: Obstacle(name: "theirs again")) {
            try await self.one.update("a") { throw Obstacle(name: $0.name) }
        }
    }

    @Test func whatIsKeptIsBoundedAndSealed() async throws {
        var memory = JournalMemory()
        let row = try #require(try await self.driver.base.load("a"))
        for number in 0..<(2 * JournalMemory.limit) {
            var row = row
            row.sealed = SealedActivation(activationID: "\(number)", fields: row.sealed.fields)
            memory.remember(row)
        }
        #expect((0..<(2 * JournalMemory.limit)).count { memory.row(of: "\($0)") != nil } == JournalMemory.limit)
    }

    // MARK: Marks

    @Test func anotherProcessThatSignsMeanwhileIsNoRestore() async throws {
        let driver = ScriptedDriver(marks: self.marks)
        let (one, other) = (Self.journal(driver), Self.journal(driver))
        try await one.insert(ActivationStoreConformance.sparseRecord("a"))
        // Between the row and its mark, the other one signs.
        driver.afterNextLoad {
            try? await other.update("a") { record in
                record.takeMove()
                record.isUnsettled = false
            }
        }
        let record = try #require(try await one.record(of: "a"))
        #expect(record.counterMoves == 1)
        #expect(!record.isUnsettled)
        #expect(driver.begunEpochs == 0)
    }

    @Test func aRowThatIsBehindItsMarkTwiceWasPutBack() async throws {
        let driver = ScriptedDriver(marks: self.marks)
        let one = Self.journal(driver)
        try await one.insert(ActivationStoreConformance.sparseRecord("a"))
        let backup = driver.memory.snapshot
        for _ in 0..<3 { try await one.update("a") { $0.takeMove() } }
        driver.memory.snapshot = backup
        #expect(try await one.update("a") { $0.takeMove() } == 3)
        #expect(try await Self.journal(driver).record(of: "a")?.isUnsettled == true)
    }

    @Test func marksAreSetWhenTheSwapIsWrittenAndOnlyUpwards() async throws {
        let driver = ScriptedDriver(marks: self.marks)
        let one = Self.journal(driver)
        try await one.insert(ActivationStoreConformance.sparseRecord("a"))
        try await one.update("a") { $0.takeMove() }
        driver.next(.swap, .refused)
        #expect(await errorCode { try await one.update("a") { _ = $0.takeMove() } } == .storeUnreachable)
        #expect(self.marks.moves(of: 1, activationID: "a") == 1)
        self.marks.set(9, of: 1, activationID: "a")
        try await one.update("a") { $0.name = "b" }
        #expect(self.marks.moves(of: 1, activationID: "a") == 9)
    }

    // MARK: Epochs

    /// Of a store that was put back, nothing is signed before the server was asked.
    @Test func aSwapThatMeetsAnotherEpochIsMadeOfARowThatSaysSo() async throws {
        try await self.one.update("a") { $0.isUnsettled = false }
        self.driver.epoch = 1
        let wasPutBack = try await self.one.update("a") { record in
            record.tokens = [:]
            record.name = "changed"
            return record.ledger.wasPutBack
        }
        #expect(wasPutBack)
        #expect(try await self.one.record(of: "a")?.isUnsettled == true)
        // Another change compares nothing.
        #expect(try await self.one.record(of: "a")?.ledger.wasPutBack == true)
    }

    // MARK: Answers that are lost

    @Test(arguments: [ScriptedDriver.Fault.answerLost, .late]) func aLostAnswerIsOneEffect(fault: ScriptedDriver.Fault)
        async throws
    {
        self.driver.next(.swap, fault)
        let move = try await self.one.update("a", recording: self.intent()) { $0.takeMove() + 1 }
        #expect(move == 1)
        #expect(try await self.one.update("a") { $0.takeMove() } == 1)
        #expect(try await self.one.openDecisions(of: "a").map(\.moves) == [1])
        #expect(Set(self.driver.swaps.map(\.newTag)).count == 2, "the first two are the same")
        #expect(self.driver.swaps.count == 3)
    }

    @Test func anAnswerThatNeverComesSignsNothing() async throws {
        let clock = ManualClock()
        let journal = ActivationStore(
            self.driver,
            name: "memory",
            keys: SealingKeys(current: .closure { Self.key }),
            clock: clock
        )
        self.driver.next(.swap, .answerLost, .answerLost)
        let changing = Task { try await journal.update("a", recording: self.intent()) { $0.takeMove() } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(6))
        #expect(await errorCode { _ = try await changing.value } == .storeOutcomeUnknown)
        // A record that was written, though nobody knew, is the state that the next change is made of.
        #expect(try await journal.update("a") { $0.takeMove() } == 1)
        // Nobody has to find out about an intent for which nothing was signed.
        #expect(try await self.other.openDecisions(of: "a").isEmpty)
        let code = MobileTokenError.Code.storeOutcomeUnknown.description
        let results = try await self.other.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result)
        #expect(results == [.refused(code: code, serverCode: nil)])
    }

    /// Of a change that was never made there is nothing to say.
    @Test func whatWasNeverWrittenLeavesNoReceipt() async throws {
        self.driver.next(.swap, .refused)
        await expectError(.storeUnreachable) {
            _ = try await self.one.update("a", recording: self.intent()) { $0.takeMove() }
        }
        try await self.one.update("a") { $0.takeMove() }
        #expect(self.driver.appends.isEmpty)
    }

    @Test(arguments: [ScriptedDriver.Fault.answerLost, .late]) func anInsertionIsOneEffect(fault: ScriptedDriver.Fault)
        async throws
    {
        self.driver.next(.insert, fault)
        try await self.one.insert(ActivationStoreConformance.sparseRecord("b"))
        #expect(try await self.one.activationIDs() == ["a", "b"])
        await expectError(.activationAlreadyStored) {
            try await self.one.insert(ActivationStoreConformance.sparseRecord("b"))
        }
    }

    // MARK: Turns

    @Test func theEndOfTheRightIsAskedForBeforeEachSwap() async throws {
        try await self.one.withSigningTurn(of: "a") { turn in
            try await turn.update { _ = $0.takeMove() }
            self.driver.notAfter = .now - .seconds(1)
            let count = self.driver.swaps.count
            #expect(await errorCode { try await turn.update { _ = $0.takeMove() } } == .signingTurnLost)
            #expect(self.driver.swaps.count == count)
            // A right that is renewed meanwhile serves again.
            self.driver.notAfter = .now + .seconds(60)
            try await turn.update { _ = $0.takeMove() }
        }
    }

    @Test func aTurnIsForOneSlot() async throws {
        try await self.one.withSigningTurn(of: "a") { turn in
            try await self.other.remove("a")
            try await self.other.insert(ActivationStoreConformance.sparseRecord("a"))
            #expect(await errorCode { try await turn.update { _ = $0.takeMove() } } == .signingTurnLost)
        }
        #expect(try await self.one.record(of: "a")?.counterMoves == 0)
    }

    @Test(arguments: [
        (SwapAnswer.fenceLost, MobileTokenError.Code.signingTurnLost), (.olderNodes(["n"]), .storeHasOlderNodes),
        (.paused(DecisionPause(date: Date(), reason: "")), .decidingPaused),
    ]) func whatStopsASwapIsNamed(answer: SwapAnswer, code: MobileTokenError.Code) async throws {
        self.driver.nextSwaps([answer])
        #expect(await errorCode { try await self.one.update("a") { _ = $0.takeMove() } } == code)
        #expect(try await self.one.record(of: "a")?.counterMoves == 0)
    }

    /// A transaction with the write lock would keep all others away; here, it is the turn.
    @Test func whoIsOvertakenTenTimesTakesTheTurn() async throws {
        self.driver.nextSwaps(Array(repeating: .otherTag, count: 10))
        #expect(try await self.one.update("a") { $0.takeMove() } == 0)
        #expect(self.driver.turnCount == 1)
    }

    @Test func whoHasTheTurnDoesNotWaitForIt() async throws {
        let move = try await self.one.withSigningTurn(of: "a") { _ in
            self.driver.nextSwaps(Array(repeating: .otherTag, count: 20))
            return try await self.one.update("a") { $0.takeMove() }
        }
        #expect(move == 0)
        #expect(self.driver.turnCount == 1)
    }

    // MARK: Keys

    @Test func anOutcomeUnderAFormerKeyIsSealedAgain() async throws {
        let move = try await self.one.update("a", recording: self.intent()) { $0.takeMove() + 1 }
        let facts = try await self.driver.open()
        _ = try await self.driver.addKey(try Sealing(key: Self.key).makeKeyCheck(), to: facts.keys)
        self.driver.nextAppends(.otherKey)
        try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        #expect(self.driver.appends.map(\.key) == [1, 2])
        #expect(try await self.one.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
    }

    // MARK: Receipts

    /// In a store that was put back, moves come again.
    @Test func anOutcomeDoesNotLandOnAnotherIntentOfTheSameMove() async throws {
        let backup = self.driver.memory.snapshot
        let move = try await self.one.update("a", recording: self.recentIntent("before")) { $0.takeMove() + 1 }
        self.driver.memory.snapshot = backup
        #expect(try await self.other.update("a", recording: self.recentIntent("after")) { $0.takeMove() + 1 } == move)
        try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        let receipts = try await self.one.receipts(of: "a", after: 0, limit: 9)
        let results = receipts.map {
            "\($0.intent.personalData?.operationID ?? "") \($0.outcome?.result.description ?? "open")"
        }
        #expect(results == ["after open", "before accepted"])
    }

    /// A late answer must not bring back personal data that were erased, nor what was deleted because it is kept elsewhere.
    @Test(arguments: [true, false]) func whatWasErasedOrDeletedDoesNotComeBack(isErased: Bool) async throws {
        let backup = self.driver.memory.snapshot
        let move = try await self.one.update("a", recording: self.recentIntent()) { $0.takeMove() + 1 }
        try await self.one.record(self.outcome(.unanswered(code: "c")), ofMove: move, of: "a")
        if isErased {
            #expect(try await self.one.eraseReceipts(.activation("a")) == 1)
        } else {
            _ = try await self.one.pruneReceipts(after: 0, before: 99, decidedBefore: .distantFuture)
        }
        self.driver.memory.snapshot = backup  // as if all of it had been deleted
        try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        #expect(try await self.one.receiptEntries(after: 0, limit: 9).isEmpty)
    }

    @Test(arguments: [ScriptedDriver.Fault.answerLost, .late]) func anOutcomeIsWrittenOnce(fault: ScriptedDriver.Fault)
        async throws
    {
        let move = try await self.one.update("a", recording: self.intent()) { $0.takeMove() + 1 }
        self.driver.next(.append, fault)
        try await self.one.record(self.outcome(.unanswered(code: "c")), ofMove: move, of: "a")
        try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        #expect(try await self.one.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
    }

    enum Next: CaseIterable { case question, pause, move, outcome, closing }

    @Test(arguments: Next.allCases) func anOutcomeThatCouldNotBeWrittenIsWrittenBeforeWhatComesNext(next: Next)
        async throws
    {
        let move = try await self.one.update("a", recording: self.intent()) { $0.takeMove() + 1 }
        self.driver.next(.append, .refused)
        await expectError(.storeUnreachable) {
            try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        }
        #expect(try await self.other.openDecisions(of: "a").count == 1)
        switch next {
        case .question: #expect(try await self.one.openDecisions(of: "a").isEmpty)
        case .pause: #expect(try await self.one.decisionPause() == nil, "as agents ask every few seconds")
        case .move: try await self.one.update("a") { $0.takeMove() }
        case .outcome: try await self.one.record(self.outcome(.accepted), ofMove: 99, of: "a")
        case .closing: await self.one.close()
        }
        #expect(try await self.other.openDecisions(of: "a").isEmpty)
        #expect(try await self.other.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
    }

    /// An outcome that this process knows is found by its own questions, though the store takes nothing.
    @Test func anOutcomeThatCannotBeWrittenIsReadAllTheSame() async throws {
        let move = try await self.one.update("a", recording: self.intent()) { $0.takeMove() + 1 }
        self.driver.next(.append, .refused, .refused, .refused)
        await expectError(.storeUnreachable) {
            try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        }
        #expect(try await self.one.openDecisions(of: "a").isEmpty)
        #expect(try await self.one.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
        #expect(try await self.other.openDecisions(of: "a").count == 1)
    }

    @Test func anOutcomeThatCannotBeWrittenKeepsNoOtherBack() async throws {
        var moves: [UInt64] = []
        for operation in ["1", "2"] {
            moves.append(try await self.one.update("a", recording: self.intent(operation)) { $0.takeMove() + 1 })
        }
        self.driver.next(.append, .refused, .refused, .refused)
        for move in moves { try? await self.one.record(self.outcome(.accepted), ofMove: move, of: "a") }
        // The first one is damaged, say, or its key is gone.
        self.driver.next(.append, .broken)
        #expect(try await self.one.decisionPause() == nil)
        #expect(try await self.other.openDecisions(of: "a").count == 1)
        _ = try await self.one.decisionPause()
        #expect(try await self.other.openDecisions(of: "a").isEmpty)
    }

    /// An answer that was read is written before the store is closed.
    @Test func closingWaitsForTheTurnsThatHaveBegun() async throws {
        try await self.one.insert(ActivationStoreConformance.sparseRecord("b"))
        let (begun, goesOn) = (Signal(), Signal())
        async let turn: Void = self.one.withSigningTurn(of: "a") { turn in
            let move = try await turn.update(recording: self.intent()) { $0.takeMove() + 1 }
            begun.raise()
            _ = await goesOn.wait()
            try await self.one.record(self.outcome(.accepted), ofMove: move, of: "a")
        }
        _ = await begun.wait()
        async let closing: Void = self.one.close()
        while (try? await self.one.withSigningTurn(of: "b") { _ in }) != nil { await Task.yield() }
        goesOn.raise()
        try await turn
        await closing
        #expect(try await self.other.receipts(of: "a", after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
    }

    @Test func intentsThatAreDecidedMakeRoomForThoseThatAreNot() throws {
        var memory = JournalMemory()
        let date = Date(timeIntervalSince1970: 0)
        func remember(_ move: UInt64, at age: TimeInterval) {
            let sealed = SealedReceipt(activationID: "a", moves: move, date: date - age, body: [], personalData: nil)
            memory.remember(JournalMemory.WrittenIntent(tag: .random(), key: 1, sealed: sealed))
        }
        remember(0, at: 9_999)
        for move in 1..<UInt64(JournalMemory.limit) { remember(move, at: TimeInterval(move)) }
        memory.noteWritten(self.outcome(.inferred), ofMove: 5, of: "a")
        remember(UInt64(JournalMemory.limit), at: 0)
        #expect(memory.intent(ofMove: 5, of: "a") == nil)
        #expect(memory.intent(ofMove: 0, of: "a") != nil)
        remember(UInt64(JournalMemory.limit) + 1, at: 0)
        #expect(memory.intent(ofMove: 0, of: "a") == nil, "the oldest, when none is decided")
    }

    // MARK: Moving

    /// The store that it is moved to would take its counter for one that nobody has used.
    @Test func whatWasPutBackIsNotMoved() async throws {
        let driver = ScriptedDriver(marks: self.marks)
        let (source, target) = (Self.journal(driver), ActivationStore.inMemory())
        try await source.insert(ActivationStoreConformance.sparseRecord("a"))
        driver.epoch = 1
        #expect(try await source.record(of: "a")?.ledger.wasPutBack == true)
        #expect(await errorCode { try await target.move("a", from: source) } == .stateRolledBack)
        #expect(try await source.activationIDs() == ["a"])
        #expect(try await target.activationIDs().isEmpty)
    }

    // MARK: Pausing

    @Test func aPauseStopsAChangeOfARowThatIsKeptWithoutIt() async throws {
        try await self.one.update("a") { $0.takeMove() }
        try await self.other.setDecisionPause(DecisionPause(date: Date(), reason: "stop"))
        await expectError(.decidingPaused) {
            try await self.one.update("a", recording: self.intent()) { _ = $0.takeMove() }
        }
        let byHand = ActivationStoreConformance.intent(byHand: "a", "2")
        #expect(try await self.one.update("a", recording: byHand) { $0.takeMove() } == 1)
        try await self.other.setDecisionPause(nil)
        #expect(try await self.one.update("a", recording: self.intent()) { $0.takeMove() } == 2)
    }
}
