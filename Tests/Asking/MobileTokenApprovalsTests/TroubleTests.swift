import ApprovalTesting
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import MobileTokenTesting
import Synchronization
import Testing

/// One trouble at each call of a desk to its ledger and to the server, one call after the other: nothing is done twice, without an approval,
/// or late, whatever comes after.
@Suite(.timeLimit(.minutes(5))) struct TroubleTests {
    enum Kind: CaseIterable {
        /// The call has no effect.
        case fails
        /// It has its effect, and nobody is told.
        case isLost
        /// The caller is canceled before it, or after it.
        case isCanceledBefore, isCanceledAfter
        /// The machine sleeps for an hour before it, or after it.
        case sleepsBefore, sleepsAfter
        /// Another process performs the same request, from its beginning to its end, before it.
        case isOvertaken
        /// Another process takes the question back before it.
        case isWithdrawn
        /// The question's row becomes that of before the last write.
        case rowGoesBack
    }

    @Test(arguments: Kind.allCases, [false, true])
    func nothingIsDoneTwiceNorWithoutAnApprovalNorLate(_ kind: Kind, _ areMany: Bool) async throws {
        var number = 0
        while true {
            let trouble = Trouble(kind, at: number)
            let scene = try await Scene(trouble, areMany: areMany)
            try await scene.play()
            guard trouble.wasMet else { break }
            try await scene.check("call \(number), \(kind)")
            number += 1
        }
        #expect(number >= 15)
    }
}

/// The place of the trouble, counted in calls.
private final class Trouble: Sendable {
    private struct State {
        var number = 0
        var wasMet = false
        var act: @Sendable () async -> Void = {}
    }

    let kind: TroubleTests.Kind
    private let place: Int
    private let state = Mutex(State())

    init(_ kind: TroubleTests.Kind, at place: Int) { (self.kind, self.place) = (kind, place) }

    var wasMet: Bool { self.state.withLock { $0.wasMet } }

    /// Sets the act that is done at the place of the trouble, unless the trouble is of the call itself.
    func set(_ act: @escaping @Sendable () async -> Void) { self.state.withLock { $0.act = act } }

    /// Makes a call, or what becomes of it.
    func pass<Value, Failure: Error>(
        _ lost: Failure,
        _ call: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let act = self.state.withLock { state -> (@Sendable () async -> Void)? in
            defer { state.number += 1 }
            guard state.number == self.place else { return nil }
            state.wasMet = true
            return state.act
        }
        guard let act else { return try await call() }
        switch self.kind {
        case .fails: throw lost
        case .isLost:
            _ = try await call()
            throw lost
        case .isCanceledAfter, .sleepsAfter:
            let value = try await call()
            await act()
            return value
        case .isCanceledBefore, .sleepsBefore, .isOvertaken, .isWithdrawn, .rowGoesBack:
            await act()
            return try await call()
        }
    }
}

/// A desk in trouble, and everything around it.
private struct Scene {
    let trouble: Trouble
    let bench: Bench
    let memory = MemoryLedger()
    let ledger: ApprovalLedger
    let driver: TroubledLedger
    let troubled: ApprovalDesk
    let request: ApprovalRequest
    /// The server's time of each act.
    private let acts = Acts()

    private final class Acts: Sendable {
        let times = Mutex<[Int64]>([])
    }

    init(_ trouble: Trouble, areMany: Bool) async throws {
        self.trouble = trouble
        self.ledger = .testing(self.memory)
        self.bench = try await Bench(ledger: self.ledger)
        self.bench.server.with { state in
            state.script["alice"]?.after = 3_000
            state.script["bob"]?.after = 7_000
            state.script["carol"] = nil
        }
        self.request = Bench.request(from: areMany ? .any(2, of: ["alice", "bob", "carol"]) : .user("alice"))
        let server = self.bench.server
        var configuration = ApprovalDesk.Configuration()
        configuration.clock = server.clock
        configuration.now = { Date(timeIntervalSince1970: Double(TestServer.start + server.elapsed) / 1_000) }
        configuration.willAsk = server.know
        self.driver = TroubledLedger(self.memory, trouble)
        self.troubled = try await ApprovalDesk(
            audience: "test",
            cloud: CloudClient(inProcess: TroubledServer(server: server, trouble: trouble)),
            ledger: ApprovalLedger(driver: self.driver, sealing: self.ledger.sealing),
            configuration: configuration
        )
    }

    private func perform(at desk: ApprovalDesk) async throws {
        try await desk.perform(self.request) { approval in
            self.bench.runs.note(approval.action)
            self.acts.times.withLock { $0.append(self.bench.server.elapsed) }
        }
    }

    func play() async throws {
        let other = try await Bench.desk(self.ledger, self.bench.server)
        let key = LedgerKey(audience: "test", id: self.request.id)
        try await self.bench.passing {
            let acting = Task { try await self.perform(at: self.troubled) }
            switch self.trouble.kind {
            case .fails, .isLost: break
            case .isCanceledBefore, .isCanceledAfter: self.trouble.set { acting.cancel() }
            case .sleepsBefore, .sleepsAfter: self.trouble.set { self.bench.clock.advance(by: .seconds(3_600)) }
            case .isOvertaken: self.trouble.set { try? await self.perform(at: other) }
            case .isWithdrawn: self.trouble.set { try? await other.tickets().first?.withdraw() }
            case .rowGoesBack:
                self.trouble.set { if let row = self.driver.earlier { await self.memory.put(row, for: key) } }
            }
            _ = try? await acting.value
        }
    }

    func check(_ place: String) async throws {
        // Whoever comes next goes on, or is told that it is over.
        for _ in 0..<2 {
            let next = try await Bench.desk(self.ledger, self.bench.server)
            try await self.bench.passing { _ = try? await self.perform(at: next) }
        }
        #expect(self.bench.runs.count <= 1, "\(place): done \(self.bench.runs.count) times")
        #expect(self.bench.runs.all.allSatisfy { $0 == self.request.action.bytes }, "\(place): other bytes")
        let approved = self.bench.server.operations.filter { $0.status == "APPROVED" }
        for time in self.acts.times.withLock({ $0 }) {
            let inTime = approved.filter { operation in
                guard let finalized = operation.finalizedMilliseconds else { return false }
                return (0...305_000).contains(TestServer.start + time - finalized)
            }
            #expect(Set(inTime.map(\.userID)).count >= self.request.approvers.needed, "\(place): no approval in time")
        }
        let state = try await Bench.desk(self.ledger, self.bench.server).tickets().first?.state
        if self.bench.runs.count == 1 {
            #expect(state == .done || state == .unknown || state == .threw, "\(place): \(state as Any)")
        } else {
            #expect(state != .done, "\(place): done, and was not")
        }
    }
}

private final class TroubledLedger: LedgerDriver {
    private let driver: MemoryLedger
    private let trouble: Trouble
    private let loaded = Mutex<LedgerRow?>(nil)

    init(_ driver: MemoryLedger, _ trouble: Trouble) { (self.driver, self.trouble) = (driver, trouble) }

    /// The row as it was before the last write.
    var earlier: LedgerRow? { self.loaded.withLock { $0 } }

    private func pass<Value>(_ call: () async throws -> Value) async throws -> Value {
        try await self.trouble.pass(StoppingLedger.Lost() as any Error, call)
    }

    // Not while it is opened: nothing can have happened by then.
    func open(audience: [UInt8]) async throws -> LedgerFacts { try await self.driver.open(audience: audience) }
    func setKey(check: [UInt8]) async throws -> LedgerFacts { await self.driver.setKey(check: check) }
    func adopt(audience: [UInt8]) async throws { await self.driver.adopt(audience: audience) }
    func load(_ key: LedgerKey) async throws -> LedgerRow? { try await self.pass { await self.driver.load(key) } }
    func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion {
        try await self.pass { await self.driver.insert(row, asking: asking) }
    }
    func swap(_ change: LedgerChange) async throws -> LedgerSwap {
        try await self.pass {
            let row = await self.driver.load(change.key)
            self.loaded.withLock { $0 = row }
            return await self.driver.swap(change)
        }
    }
    func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws {
        try await self.pass { await self.driver.unask(people, key) }
    }
    func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow] {
        try await self.pass { await self.driver.rows(filter, after: key, limit: limit) }
    }
    func hold(_ token: Int64) async throws { try await self.pass { await self.driver.hold(token) } }
    func release(_ token: Int64) async { await self.driver.release(token) }
    func isHeld(_ token: Int64) async throws -> Bool { try await self.pass { await self.driver.isHeld(token) } }
    func close() async { await self.driver.close() }
}

private struct TroubledServer: HTTPTransport {
    let server: TestServer
    let trouble: Trouble

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let lost = HTTPTransportError(self.trouble.kind == .isLost ? .connectionLost : .connectionFailed)
        return try await self.trouble.pass(lost as any Error) { try await self.server.send(request) }
    }
}
