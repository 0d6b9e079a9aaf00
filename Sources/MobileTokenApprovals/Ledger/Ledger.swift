import Basics
import ExactJSON
import Foundation
import PowerAuth
import PowerAuthCrypto
import Synchronization

/// The questions of one audience: sealed, compared and swapped.
struct Ledger: Sendable {
    /// A question as it was loaded.
    struct Stored: Sendable {
        fileprivate(set) var row: LedgerRow
        fileprivate(set) var record: QuestionRecord
        /// Drafted in another incarnation: the ledger went back since, or this is a copy.
        fileprivate(set) var isForeign: Bool
    }

    enum Drafting: Sendable {
        case drafted(Stored)
        case held(Stored)
        case refused(ApprovalError)
    }

    private static let contentName = "question"
    private static let attemptLimit = 20

    let audience: String
    private let driver: any LedgerDriver
    private let sealing: Sealing
    private let incarnation: Incarnation
    private let revisions = SeenRevisions()
    private let lastOpened = OpenedRows()

    /// The life of the ledger, which another server's taking over ends.
    private final class Incarnation: Sendable {
        private let bytes: Mutex<[UInt8]>
        init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }
        var current: [UInt8] {
            get { self.bytes.withLock { $0 } }
            set { self.bytes.withLock { $0 = newValue } }
        }
    }

    /// A page of questions.
    struct Page: Sendable {
        var readable: [Stored] = []
        /// Rows that cannot be read, or are earlier ones that were put back.
        var unreadable: [LedgerKey] = []
        /// The key of the last row, if there may be more.
        var end: LedgerKey?
    }

    init(audience: String, driver: any LedgerDriver, sealing: Sealing, incarnation: [UInt8]) {
        self.audience = audience
        self.driver = driver
        self.sealing = sealing
        self.incarnation = Incarnation(incarnation)
    }

    /// Opens a ledger.
    ///
    /// - Throws: ``ApprovalError/Code/ledgerFailed`` or ``ApprovalError/Code/ledgerWentBack``.
    static func open(_ ledger: ApprovalLedger, audience: String) async throws -> Self {
        let driver = ledger.driver
        return try await self.mappingErrors {
            var facts = try await driver.open(audience: self.digest(ofAudience: audience))
            var key = try Sealing(key: try await ledger.sealing.sealingKey(isForNewStore: facts.keyCheck == nil))
            if facts.keyCheck == nil { facts = try await driver.setKey(check: try key.makeKeyCheck()) }
            guard let check = facts.keyCheck else { throw ApprovalError(.ledgerFailed, "The ledger has no key") }
            for provider in ledger.earlier where !key.matches(keyCheck: check) {
                key = try Sealing(key: try await provider.sealingKey(isForNewStore: false))
            }
            guard key.matches(keyCheck: check) else {
                throw ApprovalError(.ledgerFailed, "The ledger is sealed with another key")
            }
            return Self(audience: audience, driver: driver, sealing: key, incarnation: facts.incarnation)
        }
    }

    /// Opens the ledger anew, because another server took over: what was drafted before is of another life.
    private func reopen() async throws {
        self.incarnation.current =
            try await self.driver.open(audience: Self.digest(ofAudience: self.audience)).incarnation
    }

    static func digest(ofAudience audience: String) -> [UInt8] {
        SHA256.hash(Array("mobile-token audience\0\(audience)".utf8))
    }

    private static func digest(of user: String, audience: String) -> [UInt8] {
        SHA256.hash(Array("mobile-token person\0\(audience)\0\(user)".utf8))
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
    /// A row that cannot be read keeps nobody from the others.
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
        // It may have been written between this look and another one that was quicker.
        if let row = try await self.driver.load(row.key) {
            let stored = try self.unsealed(row)
            if self.revisions.admit(stored.record) { return stored }
        }
        throw ApprovalError(.ledgerFailed, "An earlier row of the ledger was put back: nothing is done with it")
    }

    private func unsealed(_ row: LedgerRow) throws -> Stored {
        let damaged = ApprovalError(.ledgerFailed, "A row of the ledger is damaged, or of another audience")
        guard let state = row.state else { throw damaged }
        // The same bytes were opened before, or written.
        if let record = self.lastOpened.record(of: row) {
            return Stored(row: row, record: record, isForeign: row.incarnation != self.incarnation.current)
        }
        // The state is part of what is sealed: who edits the column gets a row that does not open.
        let bytes = try self.sealing.open(row.content, as: Self.name(state), of: row.key.description)
        let record = try JSONValue.decode(QuestionRecord.self, from: bytes)
        guard record.state == state, record.key == row.key, record.terms.audience.isExactly(self.audience) else {
            throw damaged
        }
        self.lastOpened.note(row, record)
        return Stored(row: row, record: record, isForeign: row.incarnation != self.incarnation.current)
    }

    private func sealed(_ record: QuestionRecord) throws -> [UInt8] {
        let bytes = try JSONEncoder().encode(record)
        return try self.sealing.seal(Array(bytes), as: Self.name(record.state), of: record.key.description)
    }

    private static func name(_ state: ApprovalState) -> String { "\(self.contentName):\(state.rawValue)" }

    // MARK: Writing

    /// Writes a question down, unless there is one of its name.
    func draft(_ record: QuestionRecord, maximumOpen: Int, interval: Duration) async throws -> Drafting {
        try await Self.mappingErrors {
            var row = LedgerRow(
                key: record.key,
                state: record.state,
                incarnation: self.incarnation.current,
                tag: .random(in: .min ... .max),
                needsAttention: record.needsAttention,
                asked: record.asked,
                content: try self.sealed(record)
            )
            let users = record.parts.map { Self.digest(of: $0.person.user, audience: self.audience) }
            let asking = LedgerAsking(people: users, maximumOpen: maximumOpen, interval: interval.milliseconds)
            var insertion: LedgerInsertion
            do {
                insertion = try await self.driver.insert(row, asking: asking)
                if insertion == .otherIncarnation {
                    try await self.reopen()
                    row.incarnation = self.incarnation.current
                    insertion = try await self.driver.insert(row, asking: asking)
                }
            } catch {
                // It may have been written all the same.
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

    /// Changes a question, if it still is as it was loaded.
    ///
    /// - Returns: What is stored then, or `nil` when somebody else was quicker.
    func swap(_ stored: Stored, to record: QuestionRecord) async throws -> Stored? {
        guard !stored.isForeign || record.state == .unknown || record.state == .settled else {
            throw ApprovalError(.ledgerWentBack, "The question was drafted in another life of the ledger")
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
                content: try self.sealed(record)
            )
            let answer: LedgerSwap
            do {
                answer = try await self.driver.swap(change)
            } catch {
                // The acknowledgement may be what is lost: go on only if the row has the tag that was drawn for this write.
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
            return Stored(row: row, record: record, isForeign: stored.isForeign)
        }
    }

    /// Changes a question by a pure function, which runs again on what others wrote meanwhile.
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

/// The rows of open questions that were opened or written last, so that a look at a row that has not changed costs little.
private final class OpenedRows: Sendable {
    /// A few megabytes.
    private static let limit = 1 << 10

    private let rows = Mutex<[LedgerKey: (state: ApprovalState?, content: [UInt8], record: QuestionRecord)]>([:])

    /// Returns the question that a row holds; `nil` when other bytes were opened last.
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

/// The latest revision of each question that this process has seen or written.
private final class SeenRevisions: Sendable {
    /// More are not remembered: some tens of megabytes.
    private static let limit = 1 << 20

    private let latest = Mutex<[UInt64: UInt32]>([:])

    /// Returns `false` for a row that is earlier than one that was seen.
    func admit(_ record: QuestionRecord) -> Bool {
        // Of a digest: whoever finds two names that share this part gets a question that is refused.
        let name = record.key.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return self.latest.withLock { latest in
            if latest.count >= Self.limit { latest.removeAll(keepingCapacity: true) }
            guard record.revision >= latest[name] ?? 0 else { return false }
            latest[name] = record.revision
            return true
        }
    }
}
