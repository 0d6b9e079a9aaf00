import Basics
import Coordination
import DecisionReceipts
import Foundation
package import PowerAuthProtocol
import Synchronization

/// A store of activations, in which no counter value is ever used twice and nothing is lost in a crash.
///
/// ```swift
/// var configuration = MobileTokenClient.Configuration()
/// configuration.store = .sqlite(path: "/var/lib/bot/activations.sqlite", sealingKey: .environment("SEALING_KEY"))
/// let client = try MobileTokenClient(baseURL: url, sdkConfiguration: text, configuration: configuration)
/// ```
///
/// There are three kinds: ``sqlite(path:sealingKey:)``, the default; ``inMemory()`` for tests; and `postgres(_:)` of
/// `MobileTokenPostgres` for many machines. Changes are durable when a call returns: they survive `kill -9` and, unless in
/// memory, a power failure.
///
/// The store also keeps receipts of decisions. A receipt is an intent, written in the transaction that moves the counter, and an
/// outcome, written after the response. Each is an entry with a number: 1, 2, 3 and so on in the order of writing, without gaps.
/// Entries never change, except that personal data may be erased.
public final class ActivationStore: Sendable {
    // MARK: How it works

    // The store loads sealed rows, compares them with the marks, changes them in memory, seals them, and swaps them for the loaded
    // ones. It alone ensures safety across crashes, restores and processes; a `JournalDriver` only reads and writes rows.
    //
    // The traces of a signature after a crash:
    //
    // | after this step | a crash leaves | the next process finds |
    // |---|---|---|
    // | the turn is taken, the body encrypted | nothing | nothing |
    // | the swap is sent | nothing, or as after the next step | the row as it is; the same swap, sent again by the same process, has one effect |
    // | the swap is committed, the mark set | a spent value and an open intent | the server's counter behind it: `notFollowed`, once the request cannot arrive any more; `unknown` if another signature followed and the operation is over |
    // | the first byte is sent, before the right ends | an open intent | the server's counter and the operation: `inferred`, `notFollowed`, the server's refusal, or `unknown` |
    // | the response is read | an open intent | as before: the outcome has to be determined again |
    // | the outcome is appended, the caller told | nothing; after a power failure, an open intent | nothing, or as before |
    //
    // Another process may take over at any of these points. Its lease or lock stops the former process's swap, and the end of the
    // right stops its first byte. Its outcome is always accepted.

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
    let changes = KeyedSemaphore()
    let memory = Mutex(JournalMemory())
    let upgrades: UpgradeWatch
    /// The path of the file, or the schema of the database.
    package let name: String
    private let opening = KeyedSemaphore()
    private let begun = Drain()
    private let state = Mutex(State.new)
    private let keys: Mutex<SealingKeys>
    private let decryptions = Atomic(0)

    /// Creates a store. It is opened at first use, or by ``open()``.
    ///
    /// - Parameters:
    ///   - name: The location of the store, for messages.
    ///   - clock: Paces retries and measures the age of upgrade information.
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

    /// Opens the store now instead of at first use, so that a service detects problems at startup.
    ///
    /// - Throws: A `store…` code of ``MobileTokenError/Code``. A store that cannot be opened is unchanged.
    public func open() async throws { _ = try await self.opened() }

    /// Waits up to a minute for turns in progress, writes pending outcomes, and closes the store. Later calls throw
    /// `storeClosed`.
    ///
    /// A turn that outlasts the minute finds the store closed, as if the process had ended: its decision stays open and is traced
    /// later.
    public func close() async {
        self.begun.close()
        let (begun, clock) = (self.begun, self.clock)
        await shielded { _ = try? await withDeadline(clock.now + .seconds(60), on: clock) { try await begun.wait() } }
        if case .open? = try? self.current() { await self.writeKeptOutcomes() }
        self.state.withLock { $0 = .closed }
        await self.driver.close()
    }

    package func opened() async throws -> Open {
        if case .open(let open) = try self.current() { return open }
        try await self.opening.enter("")
        defer { self.opening.leave("") }
        if case .open(let open) = try self.current() { return open }
        return try await self.load(self.keys.withLock { $0 })
    }

    /// Switches to other keys.
    package func use(_ keys: SealingKeys) async throws {
        _ = try await self.opened()
        _ = try await self.load(keys)
        self.keys.withLock { $0 = keys }
    }

    /// Switches to other keys after `reseal` has sealed everything with them. Returns the value of `reseal`.
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

    /// Opens the driver and matches the given keys with the store's.
    @discardableResult
    private func load(_ keys: SealingKeys) async throws -> Open {
        let facts = try await self.driver.open()
        return try await self.adopt(try await keys.fetch(isForNewStore: facts.keys.isEmpty), facts)
    }

    private func adopt(_ fetched: SealingKeys.Fetched, _ facts: StoreFacts) async throws -> Open {
        var matched = fetched.match(facts.keys)
        if matched == nil, fetched.mayJoin(facts.keys) {
            // Of two processes that start at once, one adds its key, and both use the result.
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

    /// Returns the key with this number. Another process may have added it since the store was opened.
    package func sealing(_ number: Int64) async throws -> Sealing {
        if let sealing = try await self.opened().keys[number] { return sealing }
        guard let sealing = try await self.load(self.keys.withLock { $0 }).keys[number] else { throw self.wrongKey() }
        return sealing
    }

    /// Checks that the store still knows the current key.
    func reloadKeys() async throws -> Open { try await self.load(self.keys.withLock { $0 }) }

    private func wrongKey() -> MobileTokenError {
        let place = (self.keys.withLock { $0.current } as? any CustomStringConvertible).map { " than that of \($0)" }
        return MobileTokenError(
            .storeWrongSealingKey,
            "The secrets at \(self.name) were sealed with another key\(place ?? "")"
        )
    }

    private func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store at \(self.name) was closed") }

    /// Repeats a call with an unknown outcome until it is known.
    ///
    /// - Throws: `storeOutcomeUnknown` if that exceeds the store's patience.
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
                    // An error of this call says nothing about the first one.
                    throw last
                }
            }
            throw last
        }
    }

    // MARK: Activations

    /// Opens the store, and durably writes and deletes a row of an activation's size. Called before an activation code is
    /// consumed.
    ///
    /// - Throws: The error that ``insert(_:)`` would throw: the store is closed, damaged, full or read-only, or has another key.
    package func prove() async throws {
        let key = try await self.opened().keys.current
        let row = NewRow(sealed: .rehearsal, tag: .random(), key: key, format: .version3)
        guard try await self.repeatingUntilKnown({ try await self.driver.rehearse(row) }) else { throw self.wrongKey() }
    }

    /// Checks that every process sharing the store can read activations of a protocol version.
    ///
    /// - Throws: `storeHasOlderNodes`.
    package func checkReaders(of version: ProtocolVersion) async throws {
        _ = try await self.opened()
        try await self.driver.checkReaders(of: RecordFormat(of: version))
    }

    /// Returns the identifiers of all activations, oldest first.
    package func activationIDs() async throws -> [String] {
        _ = try await self.opened()
        return try await self.driver.activationIDs(.all)
    }

    package func record(of activationID: String) async throws -> ActivationRecord? {
        let open = try await self.opened()
        return try await self.find(activationID, in: open)?.record
    }

    /// Adds an activation.
    ///
    /// - Throws: `activationAlreadyStored` if it exists; nothing is overwritten.
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

    /// Returns whether any process is upgrading an activation. May be a second old, but is `true` in every process once the
    /// change that began the upgrade has returned.
    package func isUpgrading(_ activationID: String) async throws -> Bool {
        guard try await self.opened().facts.isShared else {
            // No other process writes, so the activation's own row suffices. A search of all rows would make a fleet's polls
            // quadratic.
            return try await self.driver.load(activationID)?.sealed.fields.contains(SealedActivation.upgradeMark)
                ?? false
        }
        return try await self.upgrades.contains(activationID) {
            Set(try await self.driver.activationIDs(.upgrading))
        }
    }

    /// Removes an activation with its tokens and factors, if it exists.
    ///
    /// Its receipts stay. Its open decisions get the outcome `unknown`, because they can no longer be traced.
    public func remove(_ activationID: String) async throws {
        let open = try await self.opened()
        // A process with a replaced key changes nothing.
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

    /// The turns that the current task holds or waits for.
    @TaskLocal private static var turns: [TurnMark] = []

    /// Returns whether the current task holds or waits for an activation's turn. Tasks started within a turn share it until it
    /// ends.
    func hasTurn(of activationID: String) -> Bool { Self.turns.contains { $0.isOf(activationID, self) } }

    /// A turn, as seen by the tasks within it.
    private final class TurnMark: Sendable {
        private let store: ObjectIdentifier
        private let activationID: String
        private let isOver = Atomic(false)

        init(_ activationID: String, _ store: ActivationStore) {
            (self.activationID, self.store) = (activationID, ObjectIdentifier(store))
        }

        func isOf(_ activationID: String, _ store: ActivationStore) -> Bool {
            self.store == ObjectIdentifier(store) && self.activationID == activationID
                && !self.isOver.load(ordering: .relaxed)
        }

        func end() { self.isOver.store(true, ordering: .relaxed) }
    }

    /// Waits for the right to sign with an activation, and runs `body` with it. One turn per activation runs at a time, across
    /// processes. Turns are in order of arrival within a process, and no process starves. A turn ends with `body`, or with its
    /// process. Other calls do not wait for turns, and `body` may make any of them but this one.
    ///
    /// - Returns: The value of `body`.
    /// - Throws: The error of `body`, `CancellationError` if canceled while waiting, and `activationNotStored`.
    package func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        _ = try await self.opened()
        let slot = self.memory.withLock { $0.row(of: activationID)?.slot }
        let mark = TurnMark(activationID, self)
        defer { mark.end() }
        return try await Self.$turns.withValue(Self.turns + [mark]) {
            try await self.driver.withTurn(of: activationID, slot: slot) { turn in
                guard self.begun.begin() else { throw self.closed() }
                defer { self.begun.end() }
                return try await body(SigningTurn(activationID: activationID, store: self, turn: turn))
            }
        }
    }

    // MARK: For tests

    /// Returns another store over the same rows, as in another process.
    ///
    /// - Parameter wrap: Wraps the driver.
    package func reopened(behind wrap: (any JournalDriver) -> any JournalDriver) -> ActivationStore {
        ActivationStore(wrap(self.driver), name: self.name, keys: self.keys.withLock { $0 })
    }

    /// The number of records decrypted so far.
    var decryptionCount: Int { self.decryptions.load(ordering: .relaxed) }

    func noteDecryption() { self.decryptions.add(1, ordering: .relaxed) }
}

extension SealedActivation {
    /// A row of an activation's size.
    fileprivate static let rehearsal = SealedActivation(
        activationID: "rehearsal",
        fields: (0..<16).map {
            Field(name: "rehearsal-\($0)", isSealed: true, bytes: [UInt8](repeating: 0, count: 256))
        }
    )
}
