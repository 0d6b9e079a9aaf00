package import DecisionReceipts
import Foundation
import PowerAuthClient
import PowerAuthProtocol

// Receipts of decisions, in stores that keep them.
extension ActivationStoreConformance {
    func checkIntents(in store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.insert(Self.record("b"))
        let intent = Self.intent("a", "1")
        let move = try await store.update("a", recording: intent) { $0.takeMove() }
        try self.require(move == 506, "the change's result was not passed on")
        try self.require(try await store.record(of: "a")?.history.moves == 507, "the counter was not moved")
        let open = try await store.openDecisions(of: "a")
        let isSame = open.map(\.intent) == [intent] && open.map(\.moves) == [507]
        try self.require(isSame, "the intent is not there as it was written")
        try self.require(try await store.openDecisions(of: "b").isEmpty, "the intent shows at another activation")
        let receipts = try await store.receipts(of: nil, after: 0, limit: 10)
        try self.require(receipts.map(\.number) == [1], "there is another number of receipts than one")
        try self.require(receipts.first?.intent.decision == intent, "a receipt says something else than its intent")
        try self.require(receipts.first?.intent.moves == 507, "a receipt is known by another move")
        try self.require(receipts.first?.outcome == nil, "a new receipt has an outcome")
        let entries = try await store.receiptEntries(after: 0, limit: 10)
        try self.require(
            entries == receipts.map { DecisionReceipt.Entry(number: 1, .intent($0.intent)) },
            "other entries"
        )
    }

    func checkIntentsOfThrowingChanges(in store: ActivationStore) async throws {
        struct Refusal: Error {}
        let ids = (0..<12).map { "a\($0)" }
        for id in ids { try await store.insert(Self.sparseRecord(id)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, id) in ids.enumerated() {
                group.addTask {
                    do {
                        try await store.update(id, recording: Self.intent(id, "1")) { record in
                            record.takeMove()
                            if number.isMultiple(of: 3) { throw Refusal() }
                        }
                    } catch is Refusal {}
                }
            }
            try await group.waitForAll()
        }
        for (number, id) in ids.enumerated() {
            let moves = try await store.record(of: id)?.history.moves
            let open = try await store.openDecisions(of: id).map(\.moves)
            try self.require(moves == (number.isMultiple(of: 3) ? 0 : 1), "a change was lost, or kept though it threw")
            try self.require(
                open == (number.isMultiple(of: 3) ? [] : [1]),
                "an intent without its move, or the reverse"
            )
        }
        try await self.requireError(.activationNotStored) {
            try await store.update("b", recording: Self.intent("b", "1")) { _ = $0.takeMove() }
        }
        try self.require(
            try await store.openDecisions(of: "b").isEmpty,
            "an intent of an activation that is not there"
        )
    }

    func checkIntentsWithoutMove(in store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.update("a", recording: Self.intent("a", "1")) { $0.isUnsettled = false }
        try self.require(try await store.receiptEntries(after: 0, limit: 1).isEmpty, "an intent without a signature")
        try self.require(try await store.record(of: "a")?.isUnsettled == false, "the change was not kept")
    }

    func checkOutcomes(in store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.insert(Self.record("b"))
        for id in ["a", "b"] {
            for _ in 0..<2 { try await store.update(id, recording: Self.intent(id, "1")) { _ = $0.takeMove() } }
        }
        let results: [DecisionOutcome.Result] = [
            .unanswered(code: "timeout"), .unanswered(code: "connectionLost"),
            .refused(code: "operationAlreadyFinished", serverCode: "OPERATION_ALREADY_FINISHED"), .accepted,
            .unanswered(code: "timeout"),
        ]
        for (number, result) in results.enumerated() {
            try await store.record(Self.outcome(result, second: number), ofMove: 507, of: "a")
            let isOpen = try await store.openDecisions(of: "a").map(\.moves).contains(507)
            try self.require(isOpen == (number < 2), "an intent is open that is decided, or the reverse")
        }
        try await store.record(Self.outcome(.accepted, second: 9), ofMove: 505, of: "a")
        try await store.record(Self.outcome(.accepted, second: 9), ofMove: 507, of: "c")

        let receipts = try await store.receipts(of: nil, after: 0, limit: 10)
        try self.require(receipts.first?.outcome == Self.outcome(results[2], second: 2), "not the first known outcome")
        try self.require(receipts.dropFirst().allSatisfy { $0.outcome == nil }, "an outcome of another intent")
        let outcomes = try await store.receiptEntries(after: 4, limit: 10)
        let expected = (0..<3).map { number in
            DecisionReceipt.Entry(
                number: UInt64(5 + number),
                .outcome(Self.outcome(results[number], second: number), ofIntent: 1)
            )
        }
        try self.require(outcomes == expected, "the entries are not those of the outcomes that count")
        try await self.checkThatKnowledgeReplacesIgnorance(in: store)
    }

    private func checkThatKnowledgeReplacesIgnorance(in store: ActivationStore) async throws {
        try await store.insert(Self.sparseRecord("d"))
        let orders: [[(DecisionOutcome.Result, isWritten: Bool)]] = [
            [(.unanswered(code: "timeout"), true), (.followed, true), (.unanswered(code: "timeout"), false)],
            [(.followed, true), (.unknown, true), (.followed, false), (.unknown, false), (.accepted, true)],
            [(.unknown, true), (.inferred, true), (.notFollowed, false), (.unknown, false), (.accepted, true)],
            [
                (.notFollowed, true), (.inferred, false), (.refused(code: "a", serverCode: "b"), true),
                (.accepted, false),
            ],
        ]
        for (number, order) in orders.enumerated() {
            let move = try await store.update("d", recording: Self.intent("d", "\(number)")) { $0.takeMove() + 1 }
            var latest: DecisionOutcome?
            for (second, (result, isWritten)) in order.enumerated() {
                let outcome = Self.outcome(result, second: second)
                let before = try await store.receiptEntries(after: 0, limit: 1_000).count
                try await store.record(outcome, ofMove: move, of: "d")
                let after = try await store.receiptEntries(after: 0, limit: 1_000).count
                try self.require(after - before == (isWritten ? 1 : 0), "\(result) is written, or the reverse")
                if isWritten { latest = outcome }
                let receipt = try await store.receipts(of: "d", after: 0, limit: 10).last
                try self.require(receipt?.outcome == latest, "not the outcome that says most")
                let isOpen = try await store.openDecisions(of: "d").contains { $0.moves == move }
                try self.require(isOpen == latest?.isOpen, "an intent is open that is decided, or the reverse")
            }
        }
    }

    func checkReceiptOrder(of store: ActivationStore) async throws {
        for id in ["a", "b"] { try await store.insert(Self.sparseRecord(id)) }
        for number in 0..<20 {
            let id = number.isMultiple(of: 3) ? "a" : "b"
            try await store.update(id, recording: Self.intent(id, "\(number)")) { _ = $0.takeMove() }
        }
        var (operations, last): ([String?], UInt64) = ([], 0)
        while true {
            let page = try await store.receipts(of: "b", after: last, limit: 4)
            guard let end = page.last else { break }
            try self.require(page.count <= 4, "a page is longer than asked for")
            operations += page.map { $0.intent.personalData?.operationID }
            last = end.number
        }
        let expected = (0..<20).filter { !$0.isMultiple(of: 3) }.map { "\($0)" }
        try self.require(operations == expected, "not all receipts of an activation, oldest first")
        let numbers = try await store.receiptEntries(after: 7, limit: 5).map(\.number)
        try self.require(numbers == Array(8...12), "a page of entries is another one")
    }

    func checkReceiptsOfTheRemoved(in store: ActivationStore) async throws {
        try await store.insert(Self.sparseRecord("a"))
        try await store.update("a", recording: Self.intent("a", "1")) { _ = $0.takeMove() }
        let before = try await store.receiptEntries(after: 0, limit: 10)
        try await store.remove("a")
        try self.require(
            try await store.receiptEntries(after: 0, limit: 10).prefix(before.count).elementsEqual(before),
            "a receipt went with its activation"
        )
        let end = try await store.receipts(of: "a", after: 0, limit: 1).first?.outcome?.result
        try self.require(end == .unknown, "a receipt stays open for ever")
        try self.require(try await store.openDecisions(of: "a").isEmpty, "somebody is to ask about it still")
        try await store.record(Self.outcome(.accepted), ofMove: 1, of: "a")
        let outcome = try await store.receipts(of: "a", after: 0, limit: 1).first?.outcome
        try self.require(outcome == Self.outcome(.accepted), "there is no outcome once the activation is removed")
    }

    func checkConcurrentReceipts(through handles: [ActivationStore]) async throws {
        let ids = ["a", "b", "c"]
        for id in ids { try await handles.first?.insert(Self.sparseRecord(id)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<30 {
                let (store, id) = (handles[task % handles.count], ids[task % ids.count])
                group.addTask {
                    for _ in 0..<4 {
                        let intent = Self.intent(id, "\(task)")
                        let move = try await store.update(id, recording: intent) { $0.takeMove() + 1 }
                        try await store.record(Self.outcome(.accepted), ofMove: move, of: id)
                    }
                }
            }
            try await group.waitForAll()
        }
        guard let store = handles.last else { return }
        let numbers = try await store.receiptEntries(after: 0, limit: 1_000).map(\.number)
        try self.require(numbers == Array(1...240), "a number of an entry is missing, or there twice")
        for id in ids {
            let receipts = try await store.receipts(of: id, after: 0, limit: 1_000)
            try self.require(receipts.map(\.intent.moves) == Array(1...40), "not one receipt for each move")
            let areDecided = receipts.allSatisfy { $0.outcome == Self.outcome(.accepted) }
            try self.require(areDecided, "an outcome is missing")
        }
    }

    func checkFigures(of store: ActivationStore) async throws {
        try await store.insert(Self.sparseRecord("a"))
        let empty = try await store.receiptFigures()
        try self.require(empty.unexportedCount == 0 && empty.lastExport == nil, "there is nothing to export")
        for second in 0..<4 {
            try await store.update("a", recording: Self.intent("a", "\(second)", second: second)) { _ = $0.takeMove() }
        }
        try self.require(try await store.receiptFigures().unexportedCount == 4, "another number than the entries")
        // An export reads first: PostgreSQL numbers what is read.
        let exported = try await store.receiptEntries(after: 0, limit: 3)
        try await store.noteExport(upTo: exported.last?.number ?? 0, at: Self.date(second: 5))
        let figures = try await store.receiptFigures()
        try self.require(figures.unexportedCount == 1, "another number than the entries since the export")
        try self.require(figures.lastExport == Self.date(second: 5), "another time than the export's")
        try self.require(figures.byteCount > 0, "the entries take no room")
    }

    func checkErasure(in store: ActivationStore) async throws {
        for id in ["a", "b"] { try await store.insert(Self.sparseRecord(id)) }
        for second in 0..<4 {
            for id in ["a", "b"] {
                try await store.update(id, recording: Self.intent(id, "\(second)", second: second)) { record in
                    _ = record.takeMove()
                }
            }
        }
        let before = try await store.receipts(of: nil, after: 0, limit: 10)
        let erased = try await store.eraseReceipts(.activation("a"))
        try self.require(erased == 4, "another number of receipts than those of the activation")
        try self.require(try await store.eraseReceipts(.activation("a")) == 0, "what is erased was erased again")
        try self.require(
            try await store.openDecisions(of: "a").isEmpty,
            "a decision is open that cannot be looked for"
        )
        let second = try await store.eraseReceipts(.decided(before: Self.date(second: 2)))
        try self.require(second == 2, "another number of receipts than those decided before")

        let after = try await store.receipts(of: nil, after: 0, limit: 10)
        for (before, after) in zip(before, after) {
            let isErased = before.intent.activationID == "a" || before.intent.localDate < Self.date(second: 2)
            try self.require(after.intent == (isErased ? before.intent.erased : before.intent), "more changed, or less")
            try self.require((after.outcome?.result == .unknown) == isErased, "an outcome is not what it should be")
        }
    }

    func checkSharingOfReceipts(between one: ActivationStore, and other: ActivationStore) async throws {
        try await one.insert(Self.sparseRecord("a"))
        try await one.update("a", recording: Self.intent("a", "1")) { _ = $0.takeMove() }
        try self.require(try await other.openDecisions(of: "a").count == 1, "the other handle does not see an intent")
        try await other.record(Self.outcome(.accepted), ofMove: 1, of: "a")
        try self.require(try await one.openDecisions(of: "a").isEmpty, "the other handle's outcome is not seen")
    }
}

extension ActivationStoreConformance {
    func checkLostIntents(of store: ActivationStore, deletedBy other: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        // An earlier one is not written again.
        let intent = Self.intent("a", "1").dated(Date(), serverDate: nil)
        func results() async throws -> [DecisionOutcome.Result?] {
            try await store.receipts(of: nil, after: 0, limit: 9).map(\.outcome?.result)
        }
        func delete() async throws {
            // Only entries with a number are.
            _ = try await other.receiptEntries(after: 0, limit: 9)
            _ = try await other.pruneReceipts(after: 0, before: .max, decidedBefore: .distantFuture)
        }
        for (result, restored) in [
            (DecisionOutcome.Result.unanswered(code: "timeout"), DecisionOutcome.Result.evidenceLost),
            (.doubtful(code: "c", serverCode: "S"), .evidenceLost), (.followed, .followed), (.accepted, .accepted),
        ] {
            let move = try await store.update("a", recording: intent) { $0.takeMove() + 1 }
            // Whoever deletes it is not the one who has it in memory.
            try await other.record(Self.outcome(.unknown), ofMove: move, of: "a")
            try await delete()
            try self.require(try await results().isEmpty, "a receipt was not deleted")
            try await store.record(Self.outcome(result), ofMove: move, of: "a")
            try self.require(try await results() == [restored], "\(result) was restored as another outcome")
            try await store.record(Self.outcome(.unanswered(code: "again")), ofMove: move, of: "a")
            try self.require(try await results() == [restored], "\(restored) was replaced")
            try await store.record(Self.outcome(.accepted), ofMove: move, of: "a")
            try self.require(try await results() == [.accepted], "\(restored) was not replaced by a certain one")
            try await delete()
        }
    }

    package static func intent(_ activationID: String, _ operationID: String, second: Int = 0) -> DecisionIntent {
        DecisionIntent(
            activationID: activationID,
            operationID: operationID,
            attempt: 2,
            verdict: .reject,
            reason: "UNEXPECTED \u{1F4B3} e\u{301}",
            policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
            isComplete: true,
            factors: .possessionKnowledge,
            fence: 9_007_199_254_740_993,
            shown: Array(#"{"id":"\#(operationID)", "amount":1.00}"#.utf8),
            signed: "A1*A100CZK*ICZ2730300000001165254011",
            localDate: Self.date(second: second),
            serverDate: Self.date(second: second + 1)
        )
    }

    package static func intent(byHand activationID: String, _ operationID: String = "1") -> DecisionIntent {
        DecisionIntent(
            activationID: activationID,
            operationID: operationID,
            verdict: .approve,
            factors: .possession,
            signed: "A1*A100CZK",
            localDate: Self.date(second: 0)
        )
    }

    package static func outcome(_ result: DecisionOutcome.Result, second: Int = 0) -> DecisionOutcome {
        DecisionOutcome(result, localDate: Self.date(second: second), serverDate: Self.date(second: second + 1))
    }

    /// Dates of receipts are whole milliseconds.
    private static func date(second: Int) -> Date { Date(timeIntervalSince1970: 1_700_000_000.25 + Double(second)) }
}
