import Basics
import Coordination
import Foundation
package import PowerAuthProtocol
import Synchronization

/// A store of activations, in which no counter value is ever used twice and nothing is lost in a crash.
///
/// ```swift
/// let store = ActivationStore.sqlite(path: "/var/lib/bot/activations.sqlite", sealingKey: .environment("SEALING_KEY"))
/// let client = try MobileTokenClient(baseURL: url, sdkConfiguration: text, configuration: .init { $0.store = store })
/// ```
///
/// There are three: ``sqlite(path:sealingKey:)``, which is the default, ``inMemory()`` for tests, and `postgres(_:)` of
/// `MobileTokenPostgres` for many machines. What each call writes is durable when it returns: it survives `kill -9` and, unless
/// it is in memory, a power failure.
///
/// Beside the counters it keeps receipts of the decisions that they signed. A receipt is an intent, written in the durable step
/// that moves the counter, and an outcome, written after the response. Each of the two is an entry with a number: 1, 2, 3 and so
/// on in the order of writing, without a gap. Nothing is ever changed afterwards but that personal data are erased.
///
/// ## How it works
///
/// The store loads sealed rows, compares them with the marks, changes them in memory, seals them, and swaps them for what was loaded.
/// It decides once what must hold across crashes, restores and other processes; a `JournalDriver` only reads and writes rows.
///
/// ## What a crash leaves of a signature
///
/// | after this step | a crash leaves | the next process finds |
/// |---|---|---|
/// | the turn is taken, the body encrypted | nothing | nothing |
/// | the swap is sent | nothing, or as after the next step | the row as it is; the same swap, sent again by the same process, has one effect |
/// | the swap is committed, the mark set | a spent value and an open intent | the server's counter behind it: `notFollowed`, once the request cannot arrive any more; `unknown` if somebody signed since and the operation is over |
/// | the first byte is sent, before the right ends | an open intent | the server's counter and the operation: `inferred`, `notFollowed`, the server's refusal, or `unknown` |
/// | the answer is read | an open intent | as before: what was certain has to be found out again |
/// | the outcome is appended, the caller told | nothing; after a power failure, an open intent | nothing, or as before |
///
/// Another process may take over at any of these points. Its lease, or a lock, stops the swap of the former one, the end of the right
/// stops its first byte, and nothing stops its outcome: what is known is never refused.
public final class ActivationStore: Sendable {
    package struct Open: Sendable {
        package var keys: JournalKeys
        let facts: StoreFacts
    }

    private enum State {
        case new
        case open(Open)
        case closed
    }

    package let driver: any JournalDriver
    let clock: ServiceClock
    /// The order of this process's changes of one activation.
    let changes = KeyedSemaphore()
    let memory = Mutex(JournalMemory())
    let upgrades: UpgradeWatch
    /// The place of the store: the path of a file, or the schema of a database.
    public let name: String
    private let opening = KeyedSemaphore()
    /// The turns that have begun.
    private let begun = Drain()
    private let state = Mutex(State.new)
    private let keys: Mutex<SealingKeys>
    private let decryptions = Atomic(0)

    /// Creates a store; nothing is opened before it is needed, or ``open()`` is called.
    ///
    /// - Parameters:
    ///   - name: The place of the store, for messages.
    ///   - clock: Paces repetitions, and tells how old knowledge of upgrades is.
    package init(
        _ driver: any JournalDriver,
        name: String,
        keys: SealingKeys,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.driver = driver
        self.name = name
        self.keys = Mutex(keys)
        self.clock = ServiceClock(clock)
        self.upgrades = UpgradeWatch(clock: self.clock)
    }

    // MARK: Opening and closing

    /// Opens the store now rather than at its first use, so that a service notices at its start what is wrong.
    ///
    /// - Throws: one of the `store…` codes of ``MobileTokenError/Code``. A store that cannot be opened is left as it was.
    public func open() async throws { _ = try await self.opened() }

    /// Waits for the turns that have begun, writes outcomes that are still to be written, and closes the store. Calls that follow
    /// throw `storeClosed`.
    public func close() async {
        self.begun.close()
        await shielded { try? await self.begun.wait() }
        if case .open? = try? self.current() { await self.writeKeptOutcomes() }
        self.state.withLock { $0 = .closed }
        await self.driver.close()
    }

    /// Returns the open store.
    package func opened() async throws -> Open {
        if case .open(let open) = try self.current() { return open }
        try await self.opening.enter("")
        defer { self.opening.leave("") }
        if case .open(let open) = try self.current() { return open }
        return try await self.load(self.keys.withLock { $0 })
    }

    /// Takes other keys into use.
    package func use(_ keys: SealingKeys) async throws {
        _ = try await self.opened()
        _ = try await self.load(keys)
        self.keys.withLock { $0 = keys }
    }

    /// Takes other keys into use once `reseal` has sealed everything with them.
    ///
    /// - Returns: The value of `reseal`.
    func rotateKey<Result: Sendable>(
        to keys: SealingKeys,
        _ reseal: @Sendable (JournalKeys, Sealing) async throws -> Result
    ) async throws -> Result {
        let former = try await self.opened().keys
        await self.writeKeptOutcomes()
        let fetched = try await keys.fetch(isForNewStore: true)
        let result = try await reseal(former, fetched.current)
        _ = try await self.adopt(fetched, try await self.driver.open())
        self.keys.withLock { $0 = keys }
        return result
    }

    private func current() throws -> State {
        let state = self.state.withLock { $0 }
        if case .closed = state { throw self.closed() }
        return state
    }

    /// Reads which keys the store knows, and fetches those that are given.
    @discardableResult
    private func load(_ keys: SealingKeys) async throws -> Open {
        let facts = try await self.driver.open()
        return try await self.adopt(try await keys.fetch(isForNewStore: facts.keys.isEmpty), facts)
    }

    private func adopt(_ fetched: SealingKeys.Fetched, _ facts: StoreFacts) async throws -> Open {
        var matched = fetched.match(facts.keys)
        if matched == nil, fetched.mayJoin(facts.keys) {
            // Of two processes that begin at once, one makes its key known, and both go by what is known then.
            let known = try await self.driver.addKey(fetched.current.makeKeyCheck(), to: facts.keys)
            matched = fetched.match(known)
        }
        guard let matched else { throw self.wrongKey() }
        let open = Open(keys: matched, facts: facts)
        return try self.state.withLock { state in
            if case .closed = state { throw self.closed() }
            state = .open(open)
            return open
        }
    }

    /// Returns the key of a number. Another process may have begun to use it since the store was opened.
    package func sealing(_ number: Int64) async throws -> Sealing {
        if let sealing = try await self.opened().keys[number] { return sealing }
        guard let sealing = try await self.load(self.keys.withLock { $0 }).keys[number] else { throw self.wrongKey() }
        return sealing
    }

    /// Makes sure that the current key is still one that the store knows.
    func reloadKeys() async throws -> Open { try await self.load(self.keys.withLock { $0 }) }

    private func wrongKey() -> MobileTokenError {
        let place = (self.keys.withLock { $0.current } as? any CustomStringConvertible).map { " than that of \($0)" }
        return MobileTokenError(
            .storeWrongSealingKey,
            "The secrets at \(self.name) were sealed with another key\(place ?? "")"
        )
    }

    private func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store at \(self.name) was closed") }

    /// Makes a call whose outcome may become unknown, and repeats it until it is known.
    ///
    /// - Throws: `storeOutcomeUnknown` when it is not in the store's patience.
    func repeatingUntilKnown<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        do {
            return try await call()
        } catch let error as MobileTokenError where error.code == .storeOutcomeUnknown {
            let deadline = self.clock.now + (try await self.opened().facts.patience).bounded
            var last = error
            while self.clock.now < deadline, !Task.isCancelled {
                do {
                    return try await call()
                } catch let error as MobileTokenError where error.isPassing {
                    if error.code == .storeOutcomeUnknown { last = error }
                    try? await self.clock.sleep(until: self.clock.now + .milliseconds(100))
                } catch {
                    // An error of this call says nothing of the first one.
                    throw last
                }
            }
            throw last
        }
    }

    // MARK: Activations

    /// Opens the store, and writes and takes back what takes as much room as an activation, both durably.
    ///
    /// Called before an activation code is used up.
    ///
    /// - Throws: The error that ``insert(_:)`` would throw: the store is closed, damaged, full, may not be written, or
    ///   has another key.
    package func prove() async throws {
        let key = try await self.opened().keys.current
        let row = NewRow(sealed: .rehearsal, tag: .random(), key: key, format: .version3)
        guard try await self.repeatingUntilKnown({ try await self.driver.rehearse(row) }) else { throw self.wrongKey() }
    }

    /// Shows that every process which shares the store now could read an activation of a version of the protocol.
    ///
    /// - Throws: `storeHasOlderNodes`.
    package func checkReaders(of version: ProtocolVersion) async throws {
        _ = try await self.opened()
        try await self.driver.checkReaders(of: RecordFormat(of: version))
    }

    /// Returns the identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] {
        _ = try await self.opened()
        return try await self.driver.activationIDs(.all)
    }

    /// Returns one activation as it stands now, or `nil`.
    package func record(of activationID: String) async throws -> ActivationRecord? {
        let open = try await self.opened()
        return try await self.find(activationID, in: open)?.record
    }

    /// Adds an activation.
    ///
    /// - Throws: `activationAlreadyStored` when one of that identifier is held already; nothing is overwritten.
    package func insert(_ record: ActivationRecord) async throws {
        let open = try await self.opened()
        let sealed = try open.keys.currentSealing.seal(record)
        let row = NewRow(sealed: sealed, tag: .random(), key: open.keys.current, format: sealed.format)
        switch try await self.repeatingUntilKnown({ try await self.driver.insert(row) }) {
        case .written(let slot):
            open.facts.marks?.set(record.counterMoves, of: slot, activationID: record.activationID)
        case .held: throw MobileTokenError.alreadyStored()
        case .otherKey: throw self.wrongKey()
        }
    }

    /// Returns whether an activation is being upgraded, by this process or another one: as it was a second ago at most.
    ///
    /// When a change has returned that began an upgrade, every process that shares the store gets `true`.
    package func isUpgrading(_ activationID: String) async throws -> Bool {
        guard try await self.opened().facts.isShared else {
            // No other process writes, so that its own row tells; a search through all would make a fleet's polls quadratic.
            return try await self.driver.load(activationID)?.sealed.fields.contains(SealedActivation.upgradeMark)
                ?? false
        }
        return try await self.upgrades.contains(activationID) {
            Set(try await self.driver.activationIDs(.upgrading))
        }
    }

    /// Forgets an activation with its tokens and factors. Does nothing when there is none.
    ///
    /// Its receipts stay. A decision whose fate is not known yet has the outcome `unknown` from now on: nobody can ask for it any more.
    public func remove(_ activationID: String) async throws {
        let open = try await self.opened()
        // A process whose key was replaced changes nothing.
        guard let row = try await self.driver.load(activationID) else { return }
        _ = try await self.sealing(row.key)
        for decision in try await self.openDecisions(of: activationID) {
            try await self.record(DecisionOutcome(.unknown, localDate: Date(), serverDate: nil), of: decision)
        }
        self.memory.withLock { $0.forget(activationID) }
        if let slot = try await self.repeatingUntilKnown({ try await self.driver.remove(activationID) }) {
            open.facts.marks?.set(0, of: slot, activationID: activationID)
        }
        try await self.driver.overwriteDeleted()
    }

    /// The activations whose turn the current task has, or waits for.
    @TaskLocal static var turns: Set<String> = []

    /// Waits for the right to sign with an activation, and runs `body` with it.
    ///
    /// One turn of an activation runs at a time, across processes. Turns follow each other in order of arrival within one
    /// process, and no process is passed over forever. A turn ends when `body` returns or throws; a process that dies loses
    /// its turn. Other calls pass beside turns, and `body` may make any of them but this one.
    ///
    /// - Returns: The value of `body`.
    /// - Throws: The error of `body`, `CancellationError` when the task is canceled while it waits, and
    ///   `activationNotStored` when there is no such activation.
    package func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        _ = try await self.opened()
        let slot = self.memory.withLock { $0.row(of: activationID)?.slot }
        return try await Self.$turns.withValue(Self.turns.union([activationID])) {
            try await self.driver.withTurn(of: activationID, slot: slot) { turn in
                guard self.begun.begin() else { throw self.closed() }
                defer { self.begun.end() }
                return try await body(SigningTurn(activationID: activationID, store: self, turn: turn))
            }
        }
    }

    // MARK: For tests

    /// Returns a store over the same rows, as another process has one.
    ///
    /// - Parameter wrap: Puts something in front of the driver.
    package func reopened(behind wrap: (any JournalDriver) -> any JournalDriver) -> ActivationStore {
        ActivationStore(wrap(self.driver), name: self.name, keys: self.keys.withLock { $0 })
    }

    /// The number of records that were opened so far, for tests.
    var decryptionCount: Int { self.decryptions.load(ordering: .relaxed) }

    func noteDecryption() { self.decryptions.add(1, ordering: .relaxed) }
}

extension SealedActivation {
    /// A row that takes as much room as an activation.
    fileprivate static let rehearsal = SealedActivation(
        activationID: "rehearsal",
        fields: (0..<16).map {
            Field(name: "rehearsal-\($0)", isSealed: true, bytes: [UInt8](repeating: 0, count: 256))
        }
    )
}
