import Basics
import ExactJSON
import PowerAuthClient
import PowerAuthCrypto
import Synchronization

/// The questions of one audience: sealed, compared and swapped.
struct Ledger: Sendable {
    /// A loaded question.
    struct Stored: Sendable {
        fileprivate(set) var row: LedgerRow
        fileprivate(set) var record: QuestionRecord
        /// Indicates that it must not be acted on: it is from another epoch, because the ledger was rolled back or copied; or its
        /// row was replaced by a version from before its action began.
        fileprivate(set) var isForeign: Bool
    }

    enum Drafting: Sendable {
        case drafted(Stored)
        case held(Stored)
        case refused(ApprovalError)
    }

    private static let attemptLimit = 20

    let audience: String
    private let driver: any LedgerDriver
    /// The keys of the ring. While a ledger is resealed, its rows have different ones.
    private let keys: [Sealing]
    private let life: Life
    private let revisions = SeenRevisions()
    private let lastOpened = OpenedRows()

    /// The ledger's epoch, which a failover ends, and the current sealing key, which a reseal replaces.
    private final class Life: Sendable {
        private let state: Mutex<(incarnation: [UInt8], sealing: Sealing)>
        init(_ incarnation: [UInt8], _ sealing: Sealing) { self.state = Mutex((incarnation, sealing)) }
        var incarnation: [UInt8] { self.state.withLock { $0.incarnation } }
        var sealing: Sealing { self.state.withLock { $0.sealing } }
        func begin(_ incarnation: [UInt8], _ sealing: Sealing) { self.state.withLock { $0 = (incarnation, sealing) } }
    }

    struct Page: Sendable {
        var readable: [Stored] = []
        /// Rows that are unreadable, or were replaced by earlier versions.
        var unreadable: [LedgerKey] = []
        /// The key of the last row, if there may be more.
        var end: LedgerKey?
    }

    private init(audience: String, driver: any LedgerDriver, keys: [Sealing], _ facts: LedgerFacts) throws {
        self.audience = audience
        self.driver = driver
        self.keys = keys
        self.life = Life(facts.incarnation, try Self.sealing(facts, keys))
    }

    /// Opens a ledger.
    ///
    /// - Throws: ``ApprovalError/Code/ledgerFailed`` or ``ApprovalError/Code/ledgerWentBack``.
    static func open(_ ledger: ApprovalLedger, audience: String) async throws -> Self {
        let driver = ledger.driver
        return try await self.mappingErrors {
            var facts = try await driver.open(audience: self.digest(ofAudience: audience))
            let current = try Sealing(
                key: try await ledger.sealing.sealingKey(isForNewStore: facts.keyCheck == nil)
            )
            if facts.keyCheck == nil { facts = try await driver.setKey(check: try current.makeKeyCheck()) }
            var keys = [current]
            for provider in ledger.earlier {
                keys.append(try Sealing(key: try await provider.sealingKey(isForNewStore: false)))
            }
            return try Self(audience: audience, driver: driver, keys: keys, facts)
        }
    }

    /// Returns the ledger's current sealing key.
    private static func sealing(_ facts: LedgerFacts, _ keys: [Sealing]) throws -> Sealing {
        guard let check = facts.keyCheck else { throw ApprovalError(.ledgerFailed, "The ledger has no key") }
        guard let key = keys.first(where: { $0.matches(keyCheck: check) }) else {
            throw ApprovalError(.ledgerFailed, "The ledger is sealed with another key")
        }
        return key
    }

    /// Reopens the ledger after a failover, which ends the epoch of earlier drafts, or after a reseal, which replaces the key for
    /// later writes.
    private func reopen() async throws {
        let facts = try await self.driver.open(audience: Self.digest(ofAudience: self.audience))
        self.life.begin(facts.incarnation, try Self.sealing(facts, self.keys))
    }

    static func digest(ofAudience audience: String) -> [UInt8] {
        SHA256.hash(Array("mobile-token audience\0\(audience)".utf8))
    }

    private static func digest(of name: String, audience: String) -> [UInt8] {
        SHA256.hash(Array("mobile-token person\0\(audience)\0\(name)".utf8))
    }

    /// Returns digests of all names of people, so that limits count a person once, whichever name a question uses.
    private func digests(of people: [Approvers.Person]) -> [[UInt8]] {
        people.reduce(into: Set()) { $0.formUnion($1.names) }.map { Self.digest(of: $0, audience: self.audience) }
    }

    // MARK: Reading

    func load(_ key: LedgerKey) async throws -> Stored? {
        try await Self.mappingErrors {
            guard let row = try await self.driver.load(key) else { return nil }
            return try await self.opened(row)
        }
    }

    func load(id: String) async throws -> Stored? {
        try await self.load(LedgerKey(audience: self.audience, id: id))
    }

    /// Returns a page of questions in the order of their keys.
    ///
    /// An unreadable row does not affect the others.
    func page(_ filter: LedgerFilter, after key: LedgerKey? = nil, limit: Int = 256) async throws -> Page {
        let rows = try await Self.mappingErrors { try await self.driver.rows(filter, after: key, limit: limit) }
        var page = Page()
        for row in rows {
            do { page.readable.append(try await self.opened(row)) } catch is CancellationError {
                throw CancellationError()
            } catch {
                page.unreadable.append(row.key)
            }
        }
        if rows.count == limit { page.end = rows.last?.key }
        return page
    }

    private func opened(_ row: LedgerRow) async throws -> Stored {
        let stored = try self.unsealed(row)
        if self.revisions.admit(stored.record) { return stored }
        // A faster reader may have seen a later write.
        if let row = try await self.driver.load(row.key) {
            let stored = try self.unsealed(row)
            if self.revisions.admit(stored.record) { return stored }
        }
        throw ApprovalError(.ledgerFailed, "An earlier row of the ledger was put back: nothing is done with it")
    }

    private func unsealed(_ row: LedgerRow) throws -> Stored {
        let damaged = ApprovalError(.ledgerFailed, "A row of the ledger is damaged, or of another audience")
        guard let state = row.state else { throw damaged }
        let isPutBack = row.wasBegun && (state.isPending || state == .approved)
        let isForeign = isPutBack || row.incarnation != self.life.incarnation
        // The same bytes were opened or written before.
        if let record = self.lastOpened.record(of: row) {
            return Stored(row: row, record: record, isForeign: isForeign)
        }
        // State and epoch are sealed too: a row with an edited column does not open.
        let bytes = try row.opened(as: state, with: [self.life.sealing] + self.keys)
        let record = try JSONValue.decode(QuestionRecord.self, from: bytes)
        guard record.state == state, record.key == row.key, record.terms.audience.isExactly(self.audience) else {
            throw damaged
        }
        self.lastOpened.note(row, record)
        return Stored(row: row, record: record, isForeign: isForeign)
    }

    private func sealed(_ record: QuestionRecord, in incarnation: [UInt8]) throws -> [UInt8] {
        let name = LedgerRow.name(record.state, incarnation)
        return try self.life.sealing.seal(record.serialized, as: name, of: record.key.description)
    }

    // MARK: Writing

    /// Records a question, unless there is one of its name.
    func draft(_ record: QuestionRecord, maximumOpen: Int, interval: Duration) async throws -> Drafting {
        try await Self.mappingErrors {
            let incarnation = self.life.incarnation
            var row = LedgerRow(
                key: record.key,
                state: record.state,
                incarnation: incarnation,
                tag: .random(in: .min ... .max),
                needsAttention: record.needsAttention,
                asked: record.asked,
                content: try self.sealed(record, in: incarnation)
            )
            let people = self.digests(of: record.parts.map(\.person))
            let asking = LedgerAsking(people: people, maximumOpen: maximumOpen, interval: interval.milliseconds)
            var insertion: LedgerInsertion
            do {
                insertion = try await self.driver.insert(row, asking: asking)
                if insertion == .otherIncarnation {
                    try await self.reopen()
                    row.incarnation = self.life.incarnation
                    row.content = try self.sealed(record, in: row.incarnation)
                    insertion = try await self.driver.insert(row, asking: asking)
                }
            } catch {
                // The write may have succeeded nevertheless.
                guard let held = try? await self.driver.load(row.key) else { throw error }
                insertion = held.tag == row.tag ? .written : .held(held)
            }
            switch insertion {
            case .written:
                self.lastOpened.note(row, record)
                return .drafted(Stored(row: row, record: record, isForeign: false))
            case .held(let row): return .held(try await self.opened(row))
            case .tooManyOpen:
                return .refused(
                    ApprovalError(
                        .tooManyQuestions,
                        "Somebody has \(maximumOpen) open questions already: nobody was asked"
                    )
                )
            case .tooSoon(let milliseconds):
                let seconds = (max(0, milliseconds) + 999) / 1_000
                return .refused(
                    ApprovalError(.tooManyQuestions, "Somebody was asked a moment ago: ask again in \(seconds) s")
                )
            case .otherIncarnation:
                return .refused(ApprovalError(.ledgerWentBack, "The ledger begins another life again and again"))
            }
        }
    }

    /// Changes a question, if it is unchanged since it was loaded.
    ///
    /// - Returns: The stored question; `nil` if another process changed it first.
    func swap(_ stored: Stored, to record: QuestionRecord) async throws -> Stored? {
        guard !stored.isForeign || record.state == .unknown || record.state == .settled else {
            throw ApprovalError(
                .ledgerWentBack,
                "The ledger, or this row of it, went back since the question was drafted"
            )
        }
        return try await Self.mappingErrors {
            var record = record
            record.revision = stored.record.revision &+ 1
            let change = LedgerChange(
                key: stored.row.key,
                tag: stored.row.tag,
                state: stored.record.state,
                incarnation: stored.row.incarnation,
                newTag: .random(in: .min ... .max),
                newState: record.state,
                needsAttention: record.needsAttention,
                content: try self.sealed(record, in: stored.row.incarnation)
            )
            let answer: LedgerSwap
            do {
                answer = try await self.driver.swap(change)
            } catch {
                // Perhaps only the acknowledgement was lost: continue only if the row has this write's tag.
                guard let row = try? await self.driver.load(change.key), row.tag == change.newTag else { throw error }
                answer = .written
            }
            if answer == .otherIncarnation { try await self.reopen() }
            guard answer == .written else { return nil }
            var row = stored.row
            row.tag = change.newTag
            row.state = change.newState
            row.needsAttention = change.needsAttention
            row.content = change.content
            _ = self.revisions.admit(record)
            self.lastOpened.note(row, record)
            await self.unask(record, since: stored.record)
            return Stored(row: row, record: record, isForeign: stored.isForeign)
        }
    }

    /// Lets people be asked at once by another question if an ended one certainly never asked them, as when the server refused
    /// it.
    private func unask(_ record: QuestionRecord, since earlier: QuestionRecord) async {
        guard record.state.isFinal, !earlier.state.isFinal, !record.neverAsked.isEmpty else { return }
        // If it fails, they are asked a little later.
        try? await self.driver.unask(self.digests(of: record.neverAsked), record.key)
    }

    /// Changes a question by a pure function, which is repeated on concurrent changes.
    func change(_ stored: Stored, _ body: (inout QuestionRecord) -> Void) async throws -> Stored {
        var current = stored
        for _ in 0..<Self.attemptLimit {
            var record = current.record
            body(&record)
            guard record != current.record else { return current }
            if let changed = try await self.swap(current, to: record) { return changed }
            guard let loaded = try await self.load(stored.row.key) else {
                throw ApprovalError(.ledgerWentBack, "The question is no longer in the ledger")
            }
            current = loaded
        }
        throw ApprovalError(.ledgerFailed, "The question changes all the time")
    }

    // MARK: Claims

    func hold(_ token: Int64) async throws { try await Self.mappingErrors { try await self.driver.hold(token) } }
    func release(_ token: Int64) async { await self.driver.release(token) }
    func isHeld(_ token: Int64) async throws -> Bool {
        try await Self.mappingErrors { try await self.driver.isHeld(token) }
    }
    func close() async { await self.driver.close() }

    private static func mappingErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as ApprovalError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch let error as MobileTokenError {
            throw ApprovalError(.ledgerFailed, error.message, underlying: error)
        } catch {
            throw ApprovalError(.ledgerFailed, "The ledger cannot be read or written: \(error)", underlying: error)
        }
    }
}

/// The recently opened or written rows of open questions, which make reading an unchanged row cheap.
private final class OpenedRows: Sendable {
    /// A few megabytes.
    private static let limit = 1 << 10

    private let rows = Mutex<[LedgerKey: (state: ApprovalState?, content: [UInt8], record: QuestionRecord)]>([:])

    /// Returns a row's question; `nil` if other bytes were opened last.
    func record(of row: LedgerRow) -> QuestionRecord? {
        self.rows.withLock { rows in
            guard let known = rows[row.key], known.state == row.state, known.content.hasSameBytes(as: row.content)
            else {
                return nil
            }
            return known.record
        }
    }

    func note(_ row: LedgerRow, _ record: QuestionRecord) {
        self.rows.withLock { rows in
            guard record.needsAttention else {
                rows[row.key] = nil
                return
            }
            if rows.count >= Self.limit, rows[row.key] == nil { rows.removeAll(keepingCapacity: true) }
            rows[row.key] = (row.state, row.content, record)
        }
    }
}

extension LedgerRow {
    fileprivate static func name(_ state: ApprovalState, _ incarnation: [UInt8]) -> String {
        "question:\(state.rawValue):\(Hexadecimal.encode(incarnation))"
    }

    /// Opens the sealed content with the first fitting key.
    fileprivate func opened(as state: ApprovalState, with keys: [Sealing]) throws -> [UInt8] {
        var failure: (any Error)?
        let name = Self.name(state, self.incarnation)
        for key in keys {
            do { return try key.open(self.content, as: name, of: self.key.description) } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? ApprovalError(.ledgerFailed, "The ledger has no key")
    }

    /// Returns the content sealed with a key; `nil` if it already is.
    ///
    /// - Parameter earlier: The keys that may seal it.
    /// - Throws: `storeCorrupted` if none of them opens it.
    package func resealed(with key: Sealing, from earlier: [Sealing]) throws -> [UInt8]? {
        guard let state else { throw MobileTokenError(.storeCorrupted, "A row of a ledger is damaged") }
        if (try? self.opened(as: state, with: [key])) != nil { return nil }
        let bytes = try self.opened(as: state, with: earlier)
        return try key.seal(bytes, as: Self.name(state, self.incarnation), of: self.key.description)
    }
}

/// The latest revision of each question that this process has seen or written.
private final class SeenRevisions: Sendable {
    /// The maximum number of entries: some tens of megabytes.
    private static let limit = 1 << 20

    private let latest = Mutex<[UInt64: UInt32]>([:])

    /// Returns `false` for a row older than one seen before.
    func admit(_ record: QuestionRecord) -> Bool {
        // A prefix of a digest: a collision only causes a question to be refused.
        let name = record.key.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return self.latest.withLock { latest in
            if latest.count >= Self.limit { latest.removeAll(keepingCapacity: true) }
            guard record.revision >= latest[name] ?? 0 else { return false }
            latest[name] = record.revision
            return true
        }
    }
}
