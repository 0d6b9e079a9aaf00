import Basics
import Coordination
import ExactJSON
import Foundation
public import MobileTokenCloud
import PowerAuthCrypto

/// Asks people for approvals, waits, and runs an action at most once for each.
///
/// A person's decision is bound to one question: these bytes, for this audience, under this name, once. Any failure is an
/// ``ApprovalError``, and nothing is done.
///
/// Put the desk where the action's credential is: in the deployer, not in the build; in the tool's server, not in the agent.
public final class ApprovalDesk: Sendable {
    let core: DeskCore
    /// The scope of the approvals, such as `billing/production`. Each audience has one ledger.
    public let audience: String

    /// Opens a desk.
    ///
    /// - Parameters:
    ///   - audience: The scope of the approvals, such as `billing/production`; 1 to 255 printable ASCII characters. Each audience
    ///     has one ledger.
    ///   - cloud: The server that asks people. Give it pins, and credentials that cannot register devices.
    ///   - ledger: The store of the questions and their progress.
    ///   - configuration: All other settings.
    /// - Throws:
    ///   ``ApprovalError/Code/ledgerFailed``, ``ApprovalError/Code/ledgerWentBack``, ``ApprovalError/Code/invalidRequest``.
    public init(
        audience: String,
        cloud: CloudClient,
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
            cloud: cloud,
            configuration: configuration
        )
    }

    // MARK: Acting

    /// Asks, waits for the decision, and runs the action if it is approved: at most once, in time, with the approved bytes.
    ///
    /// The same request, for example after a restart, continues to wait for the same question. Once the action has begun, it
    /// throws ``ApprovalError/Code/alreadyPerformed``. An action that throws has consumed the approval: retry inside it.
    ///
    /// - Parameters:
    ///   - request: The question. Different content under the same name throws ``ApprovalError/Code/alreadyAsked``.
    ///   - action: Runs in the caller's isolation and task.
    /// - Returns: The action's result, even if the ledger could not record it, which an event reports.
    /// - Throws: ``ApprovalError`` if the action did not run; the action's error; `CancellationError` if the task was canceled
    ///   before it began, which withdraws the question unless the request says otherwise.
    public func perform<Value>(
        _ request: ApprovalRequest,
        _ action: (Approval) async throws -> Value
    ) async throws -> Value {
        let claimed = try await self.claim(request)
        // The last check before the first instruction: a machine that slept, or a task that waited, is too late.
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

    /// Withdraws a question after cancellation, and waits at most two seconds for the server.
    private func withdrawShortly(_ key: LedgerKey) async {
        let core = self.core
        await shielded {
            let deadline = core.clock.now + .seconds(2)
            _ = try? await withDeadline(deadline, on: core.clock) { try await core.withdraw(key, reason: "withdrawn") }
        }
    }

    // MARK: Asking

    /// Asks, and returns at once. Repeated calls ask once.
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

    /// Returns questions in the ledger, such as those of an earlier process, or those to settle.
    ///
    /// Unreadable rows are left out: ``health`` counts them, and an event names each.
    ///
    /// - Parameters:
    ///   - id: The name of the question; `nil` for all.
    ///   - states: The states to include.
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
            // The ledger may be outdated; following the question updates its state.
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

    /// Records the outcome of an interrupted action. The action is never run again.
    ///
    /// - Parameters:
    ///   - id: The name of the question.
    ///   - outcome: The actual outcome.
    ///   - person: The person who determined it.
    /// - Throws: ``ApprovalError/Code/invalidRequest`` if there is nothing to settle.
    public func settle(id: String, as outcome: ApprovalTicket.Settlement, by person: String) async throws {
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

    // MARK: Following questions

    /// Follows all questions in the ledger, including those of earlier processes, until the task is canceled.
    ///
    /// Without it each waiting call follows its own question.
    ///
    /// - Throws: `CancellationError`, and errors of the ledger.
    public func run() async throws { try await cancelingAtShutdown { try await self.core.run() } }

    /// Handles a callback of the server, and returns at once the status for its response.
    ///
    /// A callback proves nothing: it only wakes the desk, which asks the server. Unknown operations get the same response as
    /// known ones. A device's own signature does prove itself: with
    /// ``ApprovalRequest/deviceKeys``, one in a callback's `additionalData` counts if the server confirms the approval but shows
    /// no signature.
    ///
    /// - Parameters:
    ///   - body: The body of the request.
    ///   - headers: Its header fields, in which `Authorization` must hold the password.
    public func receive(body: [UInt8], headers: some Sequence<(String, String)>) -> Int {
        guard self.isAuthentic(headers) else { return 401 }
        guard body.count <= 1 << 20, let json = try? JSONDocument(parsing: body).root, json.isObject else { return 400 }
        guard let id = json["operationId"]?.string, (1...255).contains(id.utf8.count) else { return 200 }
        let now = self.core.clock.now
        if let signature = CloudClient.Operation.deviceSignature(inCallback: json) {
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
        // Readers disagree on two fields of one name.
        guard values.count == 1, let value = values.first,
            value.utf8.prefix(6).elementsEqual("basic ".utf8, by: { $0 | 0x20 == $1 }),
            let bytes = Base64.decode(String(Substring(value.utf8.dropFirst(6)))),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return false }
        // Compares digests, so that the duration does not reveal even the length.
        return constantTimeEquals(SHA256.hash(Array(bytes[(colon + 1)...])), SHA256.hash(Array(password.utf8)))
    }

    /// Returns events from now on. A slow reader loses the oldest of a thousand.
    public func events() -> AsyncStream<ApprovalEvent> { self.core.events.subscribe().stream }

    /// The known state of the desk. Reading it does no I/O and changes nothing.
    ///
    /// The desk knows the questions that it asked, or saw in the ledger: ``run()`` reads that once a minute, ``tickets(id:in:)``
    /// at once.
    public var health: Health {
        let (now, date, serverDate) = (self.core.clock.now, self.core.now, self.core.server.now)
        return self.core.withState { state in
            let age = state.schedule.values.compactMap(\.looked).min().map { now - $0 }
            return Health(
                open: state.open.count,
                unknown: state.unknown.count,
                unreadable: state.unreadable.count,
                oldestAnswer: age.map { Date(milliseconds: date.subtractingSaturated($0.milliseconds)) },
                clockSkew: serverDate.map { .milliseconds($0.subtractingSaturated(date)) },
                lastError: state.lastError
            )
        }
    }
}
