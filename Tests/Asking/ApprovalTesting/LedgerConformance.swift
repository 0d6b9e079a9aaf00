package import MobileTokenApprovals
import MobileTokenCloud
import MobileTokenTesting
import PowerAuth

/// The requirements of a ledger, which each driver has to meet, also when several handles are open on the same rows.
package enum LedgerConformance: String, CaseIterable, Sendable {
    /// A question is there once, whoever drafts it, and what was drafted first stays.
    case draftsOnce
    /// A row changes only if it still is as it was loaded.
    case swapsOnlyWhatWasLoaded
    /// Of many claims of one approval, one is written.
    case writesOneClaim
    /// A person has so many open questions at most, so far apart, whoever asks.
    case limitsQuestions
    /// Of many that are asked at once, so many are written as may be open.
    case limitsQuestionsThatAreAskedAtOnce
    /// A person whom the server refused to ask can be asked at once; one whom it may have asked cannot.
    case countsOnlyWhomItMayHaveAsked
    /// Rows come in pages, in one order, and only those that are wanted.
    case returnsPages
    /// The lease of a claim is seen by other handles until it is released.
    case holdsLeases
    /// An action that was begun is not begun again, though the earlier row is put back.
    case beginsOnceThoughTheRowIsPutBack
    /// A ledger that is adopted takes nothing that was open for its own.
    case beginsAnewWhenAdopted
    /// Another key opens nothing.
    case refusesAnotherKey
    /// Two desks act once.
    case letsTwoDesksActOnce
    /// Whoever acts is `running` to others.
    case tellsWhoActs
    /// An acknowledgement that is lost is read back, whatever was written.
    case readsBackLostAcknowledgements
    /// A claim that is not written runs nothing.
    case runsNothingWithoutItsClaim
    /// An outcome that is not written is `unknown`.
    case doesNotKnowAnOutcomeThatWasNotWritten
    /// A ledger that cannot be written asks nobody.
    case asksNobodyWithoutARow

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static func expect(_ condition: Bool, _ description: String, line: Int = #line) throws {
        if !condition { throw Failure(description: "line \(line): \(description)") }
    }

    /// - Parameter open: Opens a handle on the same rows each time.
    package func check(_ open: @Sendable () async throws -> ApprovalLedger) async throws {
        switch self {
        case .draftsOnce: try await Self.draftsOnce(open)
        case .swapsOnlyWhatWasLoaded: try await Self.swapsOnlyWhatWasLoaded(open)
        case .writesOneClaim: try await Self.writesOneClaim(open)
        case .limitsQuestions: try await Self.limitsQuestions(open)
        case .limitsQuestionsThatAreAskedAtOnce: try await Self.limitsQuestionsThatAreAskedAtOnce(open)
        case .countsOnlyWhomItMayHaveAsked: try await Self.countsOnlyWhomItMayHaveAsked(open)
        case .returnsPages: try await Self.returnsPages(open)
        case .holdsLeases: try await Self.holdsLeases(open)
        case .beginsOnceThoughTheRowIsPutBack: try await Self.beginsOnceThoughTheRowIsPutBack(open)
        case .beginsAnewWhenAdopted: try await Self.beginsAnewWhenAdopted(open)
        case .refusesAnotherKey: try await Self.refusesAnotherKey(open)
        case .letsTwoDesksActOnce: try await Self.letsTwoDesksActOnce(open)
        case .tellsWhoActs: try await Self.tellsWhoActs(open)
        case .readsBackLostAcknowledgements: try await Self.readsBackLostAcknowledgements(open)
        case .runsNothingWithoutItsClaim: try await Self.runsNothingWithoutItsClaim(open)
        case .doesNotKnowAnOutcomeThatWasNotWritten: try await Self.doesNotKnowAnOutcomeThatWasNotWritten(open)
        case .asksNobodyWithoutARow: try await Self.asksNobodyWithoutARow(open)
        }
    }

    package typealias Open = @Sendable () async throws -> ApprovalLedger

    // MARK: Rows

    private static let audience = [UInt8](repeating: 7, count: 32)
    private static let asking = LedgerAsking(people: [], maximumOpen: 3, interval: 10_000)

    private static func driver(_ open: Open) async throws -> (any LedgerDriver, LedgerFacts) {
        let driver = try await open().driver
        return (driver, try await driver.open(audience: self.audience))
    }

    private static func row(_ number: UInt8, _ facts: LedgerFacts, asked: Int64 = 1_000_000) -> LedgerRow {
        LedgerRow(
            key: LedgerKey(bytes: [number] + [UInt8](repeating: 1, count: 31)),
            state: .open,
            incarnation: facts.incarnation,
            tag: .random(in: .min ... .max),
            needsAttention: true,
            asked: asked,
            content: [1, 2, 3]
        )
    }

    private static func change(_ row: LedgerRow, to state: ApprovalState) -> LedgerChange {
        LedgerChange(
            key: row.key,
            tag: row.tag,
            state: row.state ?? .unknown,
            incarnation: row.incarnation,
            newTag: .random(in: .min ... .max),
            newState: state,
            needsAttention: false,
            content: [4, 5]
        )
    }

    private static func draftsOnce(_ open: Open) async throws {
        let (one, facts) = try await self.driver(open)
        let (other, sameFacts) = try await self.driver(open)
        try self.expect(facts == sameFacts, "two handles live one life")
        let row = self.row(1, facts)
        try self.expect(try await one.load(row.key) == nil, "nothing is there at first")
        try self.expect(try await one.insert(row, asking: self.asking) == .written, "it is written")
        try self.expect(try await one.insert(row, asking: self.asking) == .written, "twice is once")
        var second = self.row(1, facts)
        second.content = [9]
        try self.expect(try await other.insert(second, asking: self.asking) == .held(row), "the first one stays")
        try self.expect(try await other.load(row.key) == row, "it is as it was written")
    }

    private static func swapsOnlyWhatWasLoaded(_ open: Open) async throws {
        let (one, facts) = try await self.driver(open)
        let (other, _) = try await self.driver(open)
        let row = self.row(1, facts)
        _ = try await one.insert(row, asking: self.asking)
        var wrong = [self.change(row, to: .approved), self.change(row, to: .approved), self.change(row, to: .approved)]
        wrong[0].tag &+= 1
        wrong[1].state = .approved
        wrong[2].incarnation = [1]
        for change in wrong { try self.expect(try await one.swap(change) == .otherRow, "\(change) is refused") }
        try self.expect(try await one.load(row.key) == row, "nothing has changed")
        let change = self.change(row, to: .approved)
        try self.expect(try await other.swap(change) == .written, "what fits is written")
        try self.expect(try await one.swap(change) == .otherRow, "and only once")
        let loaded = try await one.load(row.key)
        try self.expect(
            loaded?.state == .approved && loaded?.tag == change.newTag && loaded?.content == change.content
                && loaded?.needsAttention == false && loaded?.asked == row.asked,
            "all of it is there"
        )
    }

    private static func writesOneClaim(_ open: Open) async throws {
        let (one, facts) = try await self.driver(open)
        let (other, _) = try await self.driver(open)
        var row = self.row(1, facts)
        row.state = .approved
        _ = try await one.insert(row, asking: self.asking)
        let approved = row
        let count = try await withThrowingTaskGroup(of: LedgerSwap.self) { group in
            for number in 0..<16 {
                let driver = number.isMultiple(of: 2) ? one : other
                group.addTask { try await driver.swap(Self.change(approved, to: .claimed)) }
            }
            return try await group.reduce(into: 0) { if $1 == .written { $0 += 1 } }
        }
        try self.expect(count == 1, "\(count) claims were written")
        let claimed = try await one.load(row.key).unwrapped
        let noted = self.change(claimed, to: .claimed)
        try self.expect(try await other.swap(noted) == .written, "another process notes what it knows of it")
        try self.expect(try await one.load(row.key)?.tag == noted.newTag, "and that is there")
    }

    private static func limitsQuestions(_ open: Open) async throws {
        let (one, facts) = try await self.driver(open)
        let (other, _) = try await self.driver(open)
        let alice = LedgerAsking(people: [[1]], maximumOpen: 2, interval: 10_000)
        let both = LedgerAsking(people: [[2], [1]], maximumOpen: 2, interval: 10_000)
        func ask(_ driver: any LedgerDriver, _ number: UInt8, at asked: Int64, _ asking: LedgerAsking) async throws
            -> LedgerInsertion
        { try await driver.insert(self.row(number, facts, asked: asked), asking: asking) }
        try self.expect(try await ask(one, 1, at: 0, alice) == .written, "the first one")
        try self.expect(try await ask(other, 2, at: 4_000, both) == .tooSoon(6_000), "too soon after it")
        try self.expect(try await ask(other, 2, at: 10_000, both) == .written, "the second one")
        try self.expect(try await ask(one, 3, at: 60_000, alice) == .tooManyOpen, "too many")
        let row = try await one.load(self.row(1, facts).key)
        _ = try await one.swap(self.change(try row.unwrapped, to: .rejected))
        try self.expect(try await ask(other, 3, at: 60_000, alice) == .written, "one is over")
    }

    private static func limitsQuestionsThatAreAskedAtOnce(_ open: Open) async throws {
        let (one, facts) = try await self.driver(open)
        let (other, _) = try await self.driver(open)
        let asking = LedgerAsking(people: [[1], [2]], maximumOpen: 3, interval: 0)
        let turned = LedgerAsking(people: [[2], [1]], maximumOpen: 3, interval: 0)
        let count = try await withThrowingTaskGroup(of: LedgerInsertion.self) { group in
            for number in UInt8(0)..<12 {
                let isEven = number.isMultiple(of: 2)
                group.addTask {
                    try await (isEven ? one : other).insert(
                        Self.row(number, facts),
                        asking: isEven ? asking : turned
                    )
                }
            }
            return try await group.reduce(into: 0) { if $1 == .written { $0 += 1 } }
        }
        try self.expect(count == 3, "\(count) questions were asked")
    }

    private static func countsOnlyWhomItMayHaveAsked(_ open: Open) async throws {
        let bench = try await Bench(ledger: try await open())
        bench.server.with { state in
            state.creationFailures = [(.refused("ERROR_TEMPLATE_NOT_FOUND"), false)]
        }
        let refused = await bench.code()
        try self.expect(refused == .failed, "the server refuses: \(String(describing: refused))")
        try await bench.perform(Bench.request("deploy-2"))
        bench.clock.advance(by: .seconds(10))
        // Bob is refused after alice was asked.
        bench.server.with { state in
            state.beforeCreate = { server, new in
                guard new.userID == "bob" else { return }
                server.with { $0.creationFailures = [(.refused("ERROR_USER"), false)] }
            }
        }
        let both = await bench.code(of: Bench.request("deploy-3", from: .all(of: ["alice", "bob"])))
        try self.expect(both == .failed, "the server refuses: \(String(describing: both))")
        bench.server.with { $0.beforeCreate = nil }
        let alice = await bench.code(of: Bench.request("deploy-4"))
        try self.expect(alice == .tooManyQuestions, "alice was asked: \(String(describing: alice))")
        try await bench.perform(Bench.request("deploy-5", from: .user("bob")))
        // Nobody knows of a creation without an answer.
        bench.server.with { $0.creationFailures = [(TestServer.unanswered(lost: true), true)] }
        try await bench.desk.ask(Bench.request("deploy-6", from: .user("carol"))).withdraw()
        let carol = await bench.code(of: Bench.request("deploy-7", from: .user("carol")))
        try self.expect(carol == .tooManyQuestions, "carol may have been asked: \(String(describing: carol))")
    }

    private static func returnsPages(_ open: Open) async throws {
        let (driver, facts) = try await self.driver(open)
        for number in UInt8(1)...9 {
            var row = self.row(number, facts)
            row.state = number.isMultiple(of: 2) ? .open : .done
            row.needsAttention = number > 4
            _ = try await driver.insert(row, asking: self.asking)
        }
        func numbers(_ filter: LedgerFilter, after number: UInt8? = nil, limit: Int = 100) async throws -> [UInt8] {
            let key = number.map { self.row($0, facts).key }
            return try await driver.rows(filter, after: key, limit: limit).map { $0.key.bytes[0] }
        }
        try self.expect(try await numbers(.needingAttention) == [5, 6, 7, 8, 9], "those that need attention")
        try self.expect(try await numbers(.states([.open])) == [2, 4, 6, 8], "those that are open")
        try self.expect(try await numbers(.states([.open, .done]), limit: 4) == [1, 2, 3, 4], "a page")
        try self.expect(try await numbers(.states([.open, .done]), after: 4, limit: 2) == [5, 6], "the next page")
        try self.expect(try await numbers(.states([])) == [], "none")
    }

    private static func holdsLeases(_ open: Open) async throws {
        let (one, _) = try await self.driver(open)
        let (other, _) = try await self.driver(open)
        for token in [Int64(0), 12_345, .max] {
            try self.expect(try await other.isHeld(token) == false, "nobody holds it")
            try await one.hold(token)
            try self.expect(try await one.isHeld(token), "its holder knows")
            await one.release(token)
            try self.expect(try await one.isHeld(token) == false, "it was released")
        }
    }

    private static func beginsOnceThoughTheRowIsPutBack(_ open: Open) async throws {
        let ledger = try await open()
        let bench = try await Bench(ledger: ledger)
        try await bench.decided()
        let (driver, key) = (ledger.driver, LedgerKey(audience: "test", id: "deploy-1"))
        let approved = try await driver.load(key).unwrapped
        try await bench.perform()
        let done = try await driver.load(key).unwrapped
        // A driver knows no rule, and writes what was there before.
        func putBack(_ row: LedgerRow) async throws -> LedgerSwap {
            try await driver.swap(
                LedgerChange(
                    key: key,
                    tag: row.tag,
                    state: try row.state.unwrapped,
                    incarnation: row.incarnation,
                    newTag: approved.tag,
                    newState: .approved,
                    needsAttention: true,
                    content: approved.content
                )
            )
        }
        try self.expect(try await putBack(done) == .written, "the row is put back")
        var claim = self.change(approved, to: .claimed)
        try self.expect(try await driver.swap(claim) == .otherRow, "and not claimed again")
        claim.newState = .withdrawn
        try self.expect(try await driver.swap(claim) == .written, "all else may be written")
        let withdrawn = try await driver.load(key).unwrapped
        try self.expect(try await putBack(withdrawn) == .written, "the row is put back once more")
        // A process that has seen none of it.
        let other = try await Bench.desk(try await open(), bench.server)
        try self.expect(try await other.tickets().map(\.state) == [.unknown], "nobody knows from it what was done")
        let code = await bench.code(at: other)
        try self.expect(code == .alreadyPerformed && bench.runs.count == 1, "\(code as Any), \(bench.runs.count)")
    }

    private static func beginsAnewWhenAdopted(_ open: Open) async throws {
        let bench = try await Bench(ledger: try await open(), isAnswered: false)
        _ = try await bench.desk.ask(Bench.request())
        let again = try await open()
        try await again.adopt(audience: "test")
        let desk = try await Bench.desk(again, bench.server)
        try self.expect(try await desk.tickets().map(\.state) == [.unknown], "what was open is unknown")
        bench.clock.advance(by: .seconds(10))
        _ = try await desk.ask(Bench.request("deploy-2"))
        try self.expect(try await desk.tickets(id: "deploy-2").map(\.state) == [.open], "others can be asked")
    }

    private static func refusesAnotherKey(_ open: Open) async throws {
        let ledger = try await open()
        let bench = try await Bench(ledger: ledger)
        _ = try await bench.desk.ask(Bench.request())
        let key = SecureRandom.secret(Sealing.keyByteCount)
        let other = ApprovalLedger(driver: try await open().driver, sealing: .closure { key })
        do {
            _ = try await Bench.desk(other, bench.server)
        } catch let error as ApprovalError where error.code == .ledgerFailed {
            // A ring that has the ledger's key among its earlier ones opens it.
            let ring = ApprovalLedger(driver: other.driver, sealing: other.sealing, earlier: [ledger.sealing])
            let desk = try await Bench.desk(ring, bench.server)
            try self.expect(try await desk.tickets().count == 1, "an earlier key opens it")
            return
        }
        throw Failure(description: "another key opened the ledger")
    }

    // MARK: Desks

    private static func letsTwoDesksActOnce(_ open: Open) async throws {
        let bench = try await Bench(ledger: try await open())
        let other = try await Bench.desk(try await open(), bench.server)
        let codes = try await bench.passing {
            await withTaskGroup(of: ApprovalError.Code?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        do {
                            try await (number.isMultiple(of: 2) ? bench.desk : other).perform(Bench.request()) {
                                bench.runs.note($0.action)
                            }
                            return nil
                        } catch { return (error as? ApprovalError)?.code ?? .failed }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        try self.expect(codes.count { $0 == nil } == 1 && bench.runs.count == 1, "\(bench.runs.count) acts")
        try self.expect(codes.count { $0 == .alreadyPerformed } == 19, "others heard \(codes)")
        try self.expect(bench.server.operations.count == 1, "\(bench.server.operations.count) questions")
    }

    private static func tellsWhoActs(_ open: Open) async throws {
        let bench = try await Bench(ledger: try await open())
        let other = try await Bench.desk(try await open(), bench.server)
        let (states, performance) = try await bench.passing {
            try await bench.desk.perform(Bench.request()) { _ -> ([ApprovalState], ApprovalError.Performance?) in
                let states = try await other.tickets(id: "deploy-1").map(\.state)
                do {
                    try await other.perform(Bench.request()) { _ in }
                    return (states, nil)
                } catch { return (states, (error as? ApprovalError)?.performance) }
            }
        }
        try self.expect(states == [.claimed] && performance == .running, "\(states), \(performance as Any)")
        try self.expect(try await other.tickets(id: "deploy-1").map(\.state) == [.done], "it is done")
    }

    private static func stopping(_ open: Open, _ place: StoppingLedger.Place) async throws -> (StoppingLedger, Bench) {
        let ledger = try await open()
        let driver = StoppingLedger(ledger.driver)
        driver.set(place)
        return (driver, try await Bench(ledger: ApprovalLedger(driver: driver, sealing: ledger.sealing)))
    }

    private static func readsBackLostAcknowledgements(_ open: Open) async throws {
        let (driver, bench) = try await self.stopping(open, .after(.drafted))
        for (number, state) in [ApprovalState.drafted, .open, .approved, .claimed, .done].enumerated() {
            driver.set(.after(state))
            bench.clock.advance(by: .seconds(10))
            let id = "deploy-\(number)"
            try await bench.perform(Bench.request(id))
            try self.expect(bench.runs.count == number + 1, "it runs, whatever is lost at \(state)")
            try self.expect(try await bench.state(id) == .done, "it is done, whatever is lost at \(state)")
        }
        try self.expect(bench.server.operations.count == 5, "each was asked once")
    }

    private static func runsNothingWithoutItsClaim(_ open: Open) async throws {
        let (driver, bench) = try await self.stopping(open, .instead(.claimed))
        try self.expect(await bench.code() == .ledgerFailed && bench.runs.count == 0, "nothing runs")
        driver.set(nil)
        try await bench.perform()
        try self.expect(bench.runs.count == 1, "then it does")
    }

    private static func doesNotKnowAnOutcomeThatWasNotWritten(_ open: Open) async throws {
        let (driver, bench) = try await self.stopping(open, .instead(.done))
        let events = bench.desk.events()
        // The result is the caller's all the same.
        try await bench.perform()
        driver.set(nil)
        try self.expect(try await bench.state() == .unknown, "nobody knows")
        for await event in events where event.kind == .outcomeNotRecorded { break }
        do { try await bench.perform() } catch let error as ApprovalError where error.performance == .unknown {
            return try self.expect(bench.runs.count == 1, "it ran once")
        }
        throw Failure(description: "it ran twice")
    }

    private static func asksNobodyWithoutARow(_ open: Open) async throws {
        let (_, bench) = try await self.stopping(open, .before(.drafted))
        try self.expect(await bench.code() == .ledgerFailed, "it is refused")
        try self.expect(bench.server.operations.isEmpty, "nobody was asked")
    }
}

extension Optional {
    fileprivate var unwrapped: Wrapped {
        get throws {
            guard let self else { throw LedgerConformance.Failure(description: "a row is missing") }
            return self
        }
    }
}
