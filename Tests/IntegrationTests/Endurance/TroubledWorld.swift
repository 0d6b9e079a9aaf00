import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import TestSupport

/// What outlives the process under test: the bank's server, the network, time, and what was told of the operations.
final class TroubledWorld: Sendable {
    /// How long and how hard a test is.
    struct Plan: Sendable {
        var deviceCount = 200
        /// Seconds of trouble.
        var duration = 3_600
        var pollInterval = Duration.seconds(60)
        /// The cap that the fleet is given.
        var requestsPerSecond = 40
        /// How many operations the bank makes a second.
        var operationsPerSecond = 0.4
    }

    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    let emulator: Emulator
    let plan: Plan
    let traffic = Traffic()
    private let network: any HTTPTransport
    private let elapsed = Shared(Duration.zero)
    private let rate = Shared(RequestRate())
    private let story: Shared<[String: [ApprovalAgent.Event.Kind]]>
    private let lists = Shared(ReceivedLists())
    private let late: Shared<LateRequests>

    init(_ emulator: Emulator, _ plan: Plan, _ generator: SeededGenerator) throws {
        (self.emulator, self.plan) = (emulator, plan)
        self.story = Shared([:])
        let (late, elapsed) = (Shared(LateRequests(generator: generator)), self.elapsed)
        self.late = late
        self.network = try self.traffic.transport { request, deliver in
            guard request.isDecision, late.update({ $0.holdBack(request, at: elapsed.value) }) else {
                return try await deliver(request)
            }
            throw HTTPTransportError(.connectionLost)
        }
    }

    /// The time by everybody's clock.
    var date: Date { Self.start + self.elapsed.value / .seconds(1) }

    /// The network as a process has it.
    ///
    /// - Parameter clock: The process's own.
    func network(of line: LifeLine, on clock: ManualClock) -> MortalTransport {
        let (start, zero) = (self.elapsed.value, clock.now)
        return MortalTransport(
            line: line,
            network: self.network,
            willSend: { self.rate.update { $0.count(at: start + zero.duration(to: clock.now)) } },
            didReceive: { request, response in
                guard request.url.hasSuffix("/operation/list") else { return }
                self.lists.update { $0.receive(response) }
            }
        )
    }

    /// How many requests were sent within one second at most, by the clock of their process.
    var mostRequestsInASecond: Int { self.rate.value.most }

    /// How many decisions arrived after their senders had given them up.
    var lateRequestCount: Int { self.late.value.count }

    /// Sets how often the network holds a decision back.
    func setLateness(_ probability: Double) { self.late.update { $0.probability = probability } }

    /// An agent told something.
    func heard(_ event: ApprovalAgent.Event) {
        guard let id = event.operation?.id else { return }
        self.story.update { $0[id, default: []].append(event.kind) }
    }

    /// What agents told of an operation.
    func story(of operationID: String) -> [ApprovalAgent.Event.Kind] { self.story.value[operationID] ?? [] }

    /// Whether a process received a whole list with the operation, and lived until it had dealt with it.
    func isListed(_ operationID: String) -> Bool { self.lists.value.operationIDs.contains(operationID) }

    /// What agents told, of all operations.
    var events: [ApprovalAgent.Event.Kind] { self.story.value.values.flatMap { $0 } }

    // MARK: Time

    /// A second, once all is quiet. Where requests wait for the cap on requests, it passes in parts.
    func passSecond(of process: MortalProcess?) async throws {
        var left = Duration.seconds(1)
        while left > .zero {
            try await self.settle(process)
            let part = process?.delayedRequestCount ?? 0 > 0 ? min(left, .milliseconds(100)) : left
            await self.pass(part, for: process)
            left -= part
        }
        self.lists.update { $0.settle(isAlive: process?.line.isCut == false) }
        try await self.deliverLateRequests()
    }

    /// Lets time pass for the bank and for a process.
    func pass(_ duration: Duration, for process: MortalProcess?) async {
        await self.emulator.clock.advance(by: duration)
        self.elapsed.update { $0 += duration }
        process?.clock.advance(by: duration)
    }

    /// Waits until nothing happens any more before time passes. What is under way may itself wait for time, at the cap on
    /// requests.
    private func settle(_ process: MortalProcess?) async throws {
        let end = ContinuousClock.now + .seconds(60)
        for attempt in 1... {
            await self.traffic.settle()
            guard let process, !process.line.isCut, await !process.isQuiet else { return }
            if attempt >= 20, process.delayedRequestCount > 0 { return }
            guard ContinuousClock.now < end else { throw Stuck() }
        }
    }

    /// Something neither ends nor waits for time.
    struct Stuck: Error {}

    private func deliverLateRequests() async throws {
        let due = self.late.update { $0.takeDue(at: self.elapsed.value) }
        guard !due.isEmpty else { return }
        let transport = try CurlTransport()
        for request in due { _ = try? await transport.send(request) }
        await transport.shutdown()
    }
}

/// When the requests of the last second were sent, and how many there were within one second at most.
private struct RequestRate {
    private var times: ArraySlice<Duration> = []
    private(set) var most = 0

    mutating func count(at time: Duration) {
        self.times.append(time)
        while let first = self.times.first, time - first >= .seconds(1) { self.times.removeFirst() }
        self.most = max(self.most, self.times.count)
    }
}

/// Which operations were in the lists that came whole, known once their process has dealt with them.
private struct ReceivedLists {
    private(set) var operationIDs: Set<String> = []
    private var unsettled: Set<String> = []

    mutating func receive(_ response: HTTPResponse) {
        guard response.status == 200, let list = try? JSONValue(parsing: response.body)["responseObject"]?.array else {
            return
        }
        self.unsettled.formUnion(list.compactMap { $0["id"]?.string })
    }

    /// - Parameter isAlive: Whether the process that received them still lives, now that all is quiet.
    mutating func settle(isAlive: Bool) {
        if isAlive { self.operationIDs.formUnion(self.unsettled) }
        self.unsettled = []
    }
}

/// Decisions that the network holds back. Their senders think that they were lost.
private struct LateRequests {
    private var waiting: [(time: Duration, request: HTTPRequest)] = []
    private(set) var count = 0
    /// How often one is held back.
    var probability = 0.0
    private var generator: SeededGenerator

    init(generator: SeededGenerator) { self.generator = generator }

    /// Marks what comes late, for the server's journal.
    static let header = "X-Late"

    mutating func holdBack(_ request: HTTPRequest, at now: Duration) -> Bool {
        guard Double.random(in: 0..<1, using: &self.generator) < self.probability else { return false }
        var request = request
        request.headers[Self.header] = "true"
        // A request may still reach the server as long as its timeout lasts.
        self.waiting.append((now + .seconds(Int.random(in: 1...18, using: &self.generator)), request))
        self.count += 1
        return true
    }

    mutating func takeDue(at now: Duration) -> [HTTPRequest] {
        defer { self.waiting.removeAll { $0.time <= now } }
        return self.waiting.filter { $0.time <= now }.map(\.request)
    }
}

extension HTTPRequest {
    fileprivate var isDecision: Bool { self.url.hasSuffix("/authorize") || self.url.hasSuffix("/cancel") }
}

extension Emulator.JournalEntry {
    /// Whether the network held the request back.
    var isLate: Bool { self.headers.contains { $0.name.lowercased() == "x-late" } }

    /// The operation that a request decides, if it decides one.
    var decidedOperationID: String? {
        guard self.path.hasSuffix("/authorize") || self.path.hasSuffix("/cancel") else { return nil }
        return (try? JSONValue(parsing: Array(self.body.utf8)))?["requestObject"]?["id"]?.string
    }
}
