import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenApprovals
import MobileTokenTesting
import TestSupport

/// A server with two devices of one person, from which each story gets a copy.
struct FateOrigin: Sendable {
    let server: Emulator
    let records: [ActivationRecord]
    let transport: CurlTransport
    static let start = Date(timeIntervalSince1970: 1_750_000_000)

    init() async throws {
        var configuration = Emulator.Configuration()
        configuration.templates = [FateQuestion.template]
        self.server = try await Emulator.start(configuration: configuration)
        await self.server.clock.freeze(at: Self.start)
        self.transport = try CurlTransport()
        var records: [ActivationRecord] = []
        for _ in 1...2 {
            let store = ActivationStore.inMemory()
            let client = try self.server.makeClient {
                $0.store = store
                $0.wallClock = { Self.start }
            }
            let activation = try await self.server.makeActivation(user: "alice", password: password, client: client)
            records.append(try await store.record(of: activation.activationID)!)
        }
        self.records = records
    }
}

/// The question of an asker.
enum FateQuestion {
    private static let form = "A9*N${version}*R${binding}"
    static let template = """
        {"name": "deploy", "data": "\(form)", "operationType": "deploy",
         "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
         "formData": {"title": "Deploy", "message": "${fingerprint}"}}
        """

    static var request: ApprovalRequest {
        ApprovalRequest(
            id: "deploy-1",
            from: .user("alice"),
            template: ApprovalTemplate("deploy", signs: Self.form, operationType: "deploy"),
            parameters: ["version": "1.0"],
            action: .bytes([]),
            expires: .seconds(300)
        )
    }

    static func desk(
        of cloud: CloudClient,
        _ clock: ManualClock,
        _ ledger: ApprovalLedger = .inMemory()
    ) async throws -> ApprovalDesk {
        var configuration = ApprovalDesk.Configuration()
        configuration.clock = clock
        configuration.now = { FateWorld.date(clock) }
        return try await ApprovalDesk(
            audience: "fates",
            cloud: cloud,
            ledger: ledger,
            configuration: configuration
        )
    }
}

/// The server, the two devices and the time of one story.
final class FateWorld: Sendable {
    static let faultName = "the fault"
    static let timeout = Duration.seconds(20)

    let cell: FateCell
    let emulator: Emulator
    let clock = ManualClock()
    let traffic = Traffic()
    let transport: any HTTPTransport
    private let stores: [ActivationStore]
    private let clients: Shared<[MobileTokenClient]>
    private let services: Shared<[OperationsService]>
    let activationID: String
    let ledger = Shared(FateLedger())
    /// Asks the person of the devices, in a story about that.
    let desk: ApprovalDesk?

    init(_ cell: FateCell, in emulator: Emulator, from origin: FateOrigin) async throws {
        (self.cell, self.emulator, self.transport) = (cell, emulator, origin.transport)
        var stores: [ActivationStore] = []
        for record in origin.records {
            let store = ActivationStore.inMemory()
            try await store.insert(record)
            stores.append(store)
        }
        self.stores = stores
        self.activationID = origin.records[0].activationID
        (self.clients, self.services) = (Shared([]), Shared([]))
        self.desk = cell.task == .ask ? try await FateQuestion.desk(of: emulator.cloud, self.clock) : nil
        for device in 0...1 { try await self.start(device) }
    }

    /// Starts the program of a device, or starts it again: its store is all that it knows.
    func start(_ device: Int) async throws {
        let (clock, store) = (self.clock, self.stores[device])
        let client = try self.emulator.makeClient {
            $0.store = store
            $0.clock = clock
            $0.wallClock = { Self.date(clock) }
            $0.timeout = Self.timeout
            $0.transport = try InterceptingTransport(base: self.transport) { [weak self] request, deliver in
                // A service that outlives its story asks in vain.
                guard let self else { throw HTTPTransportError(.connectionLost) }
                return try await self.pass(request, deliver)
            }
        }
        let ids = try await store.activationIDs()
        let service = client.makeOperationsService(for: try await client.activation(id: ids[0]))
        self.clients.update { $0 = Array($0.prefix(device)) + [client] + $0.dropFirst(device + 1) }
        self.services.update { $0 = Array($0.prefix(device)) + [service] + $0.dropFirst(device + 1) }
    }

    var service: OperationsService { self.services.value[0] }
    var otherService: OperationsService { self.services.value[1] }

    func activation() async throws -> Activation { try await self.clients.value[0].activation(id: self.activationID) }

    func receipts() async throws -> [DecisionReceipt] {
        try await self.stores[0].receipts(of: self.activationID, after: 0, limit: 100)
    }

    // MARK: The way of requests

    func pass(_ request: HTTPRequest, _ deliver: InterceptingTransport.Delivery) async throws -> HTTPResponse {
        try await self.traffic.counting {
            guard self.cell.fault == .held else { return try await deliver(request) }
            // A client gives up on what is held.
            let waiting = await self.waitingCount
            let response = try await withoutActuallyEscaping(deliver) { deliver in
                try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                    group.addTask { try await deliver(request) }
                    group.addTask {
                        while await self.waitingCount == waiting, !Task.isCancelled { await Task.yield() }
                        return nil
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? nil
                }
            }
            if let response { return response }
            await self.advance(by: Self.timeout)
            throw HTTPTransportError(.timeout)
        }
    }

    private var waitingCount: Int { get async { await self.emulator.faults.counts.reduce(0) { $0 + $1.waiting } } }

    // MARK: Time

    static func date(_ clock: ManualClock) -> Date {
        FateOrigin.start + ManualClock().now.duration(to: clock.now) / .seconds(1)
    }

    func advance(by duration: Duration) async {
        await self.emulator.clock.advance(by: duration)
        self.clock.advance(by: duration)
    }

    /// Does something while time passes for whoever waits for it.
    func whileTimePasses<Result: Sendable>(
        by step: Duration = .milliseconds(500),
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let time = Task {
            while !Task.isCancelled {
                await self.traffic.settle()
                guard self.clock.timeToNextDeadline != nil, !Task.isCancelled else { continue }
                await self.advance(by: step)
            }
        }
        do {
            let result = try await body()
            await time.stop()
            return result
        } catch {
            await time.stop()
            throw error
        }
    }

    /// Waits so long in the time of the story.
    func wait(for duration: Duration) async throws {
        let clock = self.clock
        try await self.whileTimePasses { try await clock.sleep(for: duration) }
    }
}

extension Traffic {
    func counting<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        self.begin()
        defer { self.end() }
        return try await body()
    }
}
