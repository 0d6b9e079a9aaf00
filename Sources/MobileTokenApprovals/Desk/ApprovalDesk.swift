import Basics
import Coordination
import ExactJSON
import Foundation
import PowerAuthCrypto

/// Asks people for approvals, waits, and lets an action run at most once for each.
///
/// The decision of a person is bound to one question: these bytes, for this audience, under this name, once. What stands in the way of it is an
/// ``ApprovalError``, and nothing is done.
///
/// Put the desk where the credential of the action is: in the deployer, not in the build; in the tool's server, not in the agent.
public final class ApprovalDesk: Sendable {
    let core: DeskCore
    /// The name of what the approvals are for, such as `billing/production`. One audience has one ledger.
    public let audience: String

    package init(
        audience: String,
        server: any ApprovalServer,
        ledger: ApprovalLedger,
        configuration: Configuration = Configuration()
    ) async throws {
        guard (1...255).contains(audience.utf8.count), audience.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ApprovalError(
                .invalidRequest,
                "The audience has 1 to 255 printable characters of ASCII, without spaces"
            )
        }
        self.audience = audience
        self.core = DeskCore(
            ledger: try await Ledger.open(ledger, audience: audience),
            server: server,
            configuration: configuration
        )
    }

    // MARK: Acting

    /// Asks, waits for the decision, and runs the action if it is approved: at most once, in time, with the bytes that were approved.
    ///
    /// The same request, after a restart say, goes on waiting for the same question. A second one, once the action was begun, throws
    /// ``ApprovalError/Code/alreadyPerformed``. An action that throws has used up the approval: retry inside it.
    ///
    /// - Parameters:
    ///   - request: The question. Other content under the same name throws ``ApprovalError/Code/alreadyAsked``.
    ///   - action: Runs in the caller's isolation and task.
    /// - Returns: The result of the action, also when the ledger could not record it; an event says so then.
    /// - Throws: ``ApprovalError`` when the action did not run; what the action throws; `CancellationError` when the task is canceled before
    ///   it began, and then the question is withdrawn unless the request says otherwise.
    public func perform<Value>(
        _ request: ApprovalRequest,
        _ action: (Approval) async throws -> Value
    ) async throws -> Value {
        let claimed = try await self.claim(request)
        // The last look before the first instruction: a machine that slept, or a task that waited, is too late.
        guard self.core.isFresh(claimed) else {
            let core = self.core
            await shielded { await core.finish(claimed, .lapsed) }
            throw ApprovalError(.lapsed, "Too much time passed before the action could begin", questionID: request.id)
        }
        let approval = Approval(
            action: request.action.bytes,
            approvals: claimed.approvals,
            fingerprint: claimed.fingerprint,
            idempotencyKey: claimed.stored.record.key.description,
            notAfter: Date(milliseconds: claimed.notAfter)
        )
        let core = self.core
        do {
            let value = try await action(approval)
            await shielded { await core.finish(claimed, .done) }
            return value
        } catch {
            await shielded { await core.finish(claimed, .threw) }
            throw error
        }
    }

    private func claim(_ request: ApprovalRequest) async throws -> DeskCore.Claimed {
        let key = LedgerKey(audience: self.audience, id: request.id)
        do {
            let stored = try await self.core.ask(request)
            guard !stored.record.state.wasClaimed else { throw stored.record.alreadyPerformed }
            return try await self.core.claim(try await self.core.decided(key, from: stored))
        } catch let error as CancellationError {
            if request.onCancel == .withdraw { await self.withdrawShortly(key) }
            throw error
        } catch let error as ApprovalError {
            throw error.about(request.id)
        }
    }

    /// Withdraws a question whose asker has gone, and waits at most two seconds for the server to know.
    private func withdrawShortly(_ key: LedgerKey) async {
        let core = self.core
        await shielded {
            let deadline = core.clock.now + .seconds(2)
            _ = try? await withDeadline(deadline, on: core.clock) { try await core.withdraw(key, reason: "withdrawn") }
        }
    }

    // MARK: Asking

    /// Asks, and returns at once. Asked twice is asked once.
    ///
    /// - Throws: ``ApprovalError``.
    public func ask(_ request: ApprovalRequest) async throws -> ApprovalTicket {
        do {
            let stored = try await self.core.ask(request)
            switch stored.record.state {
            case .mismatched, .failed: throw stored.record.refusal
            default: return ApprovalTicket(stored.record, desk: self)
            }
        } catch let error as ApprovalError {
            throw error.about(request.id)
        }
    }

    /// Returns the questions that the ledger has, such as those that an earlier process asked, or those to settle.
    ///
    /// Rows that cannot be read are left out: ``health`` counts them, and an event names each.
    ///
    /// - Parameters:
    ///   - id: The name of the question; `nil` for all.
    ///   - states: The states that they are in.
    public func tickets(
        id: String? = nil,
        in states: Set<ApprovalState> = Set(ApprovalState.allCases)
    ) async throws -> [ApprovalTicket] {
        var found: [QuestionRecord] = []
        if let id {
            if let stored = try await self.core.ledger.load(id: id) {
                found.append(try await self.core.followed(stored).record)
            }
        } else {
            // The ledger may be behind: following the question brings its state up to date.
            let searched = states.union(ApprovalState.allCases.filter { !$0.isFinal })
            var last: LedgerKey?
            while true {
                let page = try await self.core.ledger.page(.states(searched), after: last)
                self.core.note(unreadable: page.unreadable)
                for stored in page.readable { found.append(try await self.core.followed(stored).record) }
                guard let end = page.end else { break }
                last = end
            }
        }
        return found.filter { states.contains($0.state) }.sorted { $0.asked < $1.asked }
            .map { ApprovalTicket($0, desk: self) }
    }

    /// Records the outcome of an action that was interrupted. The action is never run again.
    ///
    /// - Parameters:
    ///   - id: The name of the question.
    ///   - outcome: The outcome that was found out.
    ///   - person: The one who found out.
    /// - Throws: ``ApprovalError/Code/invalidRequest`` when there is nothing to settle.
    public func settle(id: String, as outcome: Settlement, by person: String) async throws {
        guard !person.isEmpty, person.utf8.count <= 255 else {
            throw ApprovalError(.invalidRequest, "Say who settles it, in at most 255 bytes", questionID: id)
        }
        guard let stored = try await self.core.ledger.load(id: id) else {
            throw ApprovalError(.invalidRequest, "There is no question of this name", questionID: id)
        }
        let now = self.core.now
        let followed = try await self.core.followed(stored)
        guard followed.record.state == .unknown else {
            throw ApprovalError(
                .invalidRequest,
                "It is \(followed.record.state.rawValue): nothing is to be settled",
                questionID: id
            )
        }
        let changed = try await self.core.ledger.change(followed) { _ = $0.settle(outcome, by: person, at: now) }
        self.core.report(.changed, changed.record)
    }

    // MARK: Looking after questions

    /// Looks after all questions of the ledger, also those that an earlier process asked, until the task is canceled.
    ///
    /// Without it each call that waits looks after its own question.
    ///
    /// - Throws: `CancellationError`, and what the ledger throws.
    public func run() async throws { try await self.core.run() }

    /// Takes a callback of the server, and returns at once the status to answer with.
    ///
    /// A callback proves nothing: it only wakes the desk, which asks the server. Unknown operations are answered like known ones. A device's
    /// own signature proves itself: with ``ApprovalRequest/deviceKeys``, one in a callback's `additionalData` counts where the server's
    /// answers show none, once these say that the operation was approved.
    ///
    /// - Parameters:
    ///   - body: The body of the request.
    ///   - headers: Its header fields, of which `Authorization` must hold the password.
    public func receive(body: [UInt8], headers: some Sequence<(String, String)>) -> Int {
        guard self.isAuthentic(headers) else { return 401 }
        guard body.count <= 1 << 20, let json = try? JSONDocument(parsing: body).root, json.isObject else { return 400 }
        guard let id = json["operationId"]?.string, (1...255).contains(id.utf8.count) else { return 200 }
        let now = self.core.clock.now
        if let signature = ApprovalOperation.deviceSignature(inCallback: json) {
            self.core.withState { $0.note(signature, of: id) }
        }
        switch self.core.withState({ $0.wake(id, at: now) }) {
        case .known(let key):
            for signal in self.core.withState({ $0.signals(for: key) }) { signal.raise() }
            self.core.poller.raise()
        case .unrecognized:
            for signal in self.core.withState({ $0.allSignals }) { signal.raise() }
            self.core.poller.raise()
        case .ignored: break
        }
        return 200
    }

    private func isAuthentic(_ headers: some Sequence<(String, String)>) -> Bool {
        guard let password = self.core.configuration.callbackPassword, !password.isEmpty else { return false }
        let values = headers.filter { $0.0.lowercased() == "authorization" }.map(\.1)
        // Two fields of one name are read differently by different readers.
        guard values.count == 1, let value = values.first,
            value.utf8.prefix(6).elementsEqual("basic ".utf8, by: { $0 | 0x20 == $1 }),
            let bytes = Base64.decode(String(Substring(value.utf8.dropFirst(6)))),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        // Of digests, so that not even the length shows in the time that it takes.
        return constantTimeEquals(SHA256.hash(Array(bytes[(colon + 1)...])), SHA256.hash(Array(password.utf8)))
    }

    /// Returns what happens from now on. A slow reader loses the oldest of a thousand.
    public func events() -> AsyncStream<ApprovalEvent> { self.core.events.stream() }

    /// The state of the desk.
    public var health: Health {
        get async {
            let pending = Set(ApprovalState.allCases.filter(\.isPending))
            var (open, unknown, failure) = (0, 0, String?.none)
            do {
                let states = try await self.tickets(in: pending.union([.unknown])).map(\.state)
                unknown = states.count { $0 == .unknown }
                open = states.count - unknown
            } catch {
                failure = "\(error)"
            }
            let (looked, offset, lastError, unreadable) = self.core.withState { state in
                (
                    state.schedule.values.compactMap(\.looked).min(), state.offset, state.lastError,
                    state.unreadable.count
                )
            }
            let age = looked.map { self.core.clock.now - $0 }
            return Health(
                open: open,
                unknown: unknown,
                unreadable: unreadable,
                oldestAnswer: age.map { Date(milliseconds: self.core.now.subtractingSaturated($0.milliseconds)) },
                clockSkew: offset.map { .milliseconds($0) },
                lastError: failure ?? lastError
            )
        }
    }

    // MARK: For tickets

    func decision(_ key: LedgerKey) async throws -> Decision {
        try await self.core.decided(key).record.decision
    }

    func withdraw(_ key: LedgerKey, reason: String) async throws {
        try await self.core.withdraw(key, reason: reason)
    }
}
