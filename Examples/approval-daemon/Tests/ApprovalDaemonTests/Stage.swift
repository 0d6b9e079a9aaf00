import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenReceipts
import MobileTokenTesting
import Synchronization
import Testing

@testable import ApprovalDaemon

/// A bank, an activation in a store on the disk, and what a daemon needs to decide for it.
struct Stage: Sendable {
    static let password = "correct-horse"

    let emulator: Emulator
    let activationID: String
    let activationCode: String
    let folder: TemporaryFolder

    var storePath: String { self.folder.file("store/activations.sqlite") }
    var receiptFolder: String { self.folder.file("receipts") }
    var logFile: String { self.folder.file("log") }

    static func with(_ body: (Stage) async throws -> Void) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let store = ActivationStore.sqlite(path: folder.file("store/activations.sqlite"))
            let client = try emulator.makeClient { $0.store = store }
            let registration = try await emulator.cloud.register(userID: "alice")
            let activation = try await client.activate(code: registration.activationQRCode, password: Self.password)
            try await emulator.cloud.commitRegistration(registration.id)
            await client.shutdown()
            await store.close()
            try folder.write("passwords", "other wrong\n\(activation.activationID) \(Self.password)\n")
            try await body(
                Stage(
                    emulator: emulator,
                    activationID: activation.activationID,
                    activationCode: registration.activationCode,
                    folder: folder
                )
            )
        }
    }

    /// A configuration that approves payments up to 50 CZK.
    func configuration(_ extra: String = "") -> String {
        """
        {
          "server": {"baseURL": "\(self.emulator.baseURL)", "sdkConfiguration": "\(self.emulator.sdkConfiguration)"},
          "store": {"path": "\(self.storePath)"},
          "passwordFile": "\(self.folder.file("passwords"))",
          "polling": {"intervalSeconds": 5},
          "policy": {
            "name": "small payments",
            "rules": [{
              "template": "authorize_payment", "currency": "CZK", "limit": "50",
              "accounts": ["CZ5508000000001234567899"]
            }]
          },
          "status": {"port": 0},
          "receipts": {"folder": "\(self.receiptFolder)"}\(extra)
        }
        """
    }

    /// Runs a daemon in this process, with time that passes as fast as the network allows.
    func withDaemon(
        _ environment: [String: String] = [:],
        _ body: (RunningDaemon) async throws -> Void
    ) async throws {
        let traffic = Traffic()
        try self.folder.write("log", "")
        let log = try #require(FileHandle(forWritingAtPath: self.logFile))
        let writer = LogWriter(descriptor: log.fileDescriptor)
        let configuration = try DaemonConfiguration(
            json: try JSONValue(parsing: self.configuration(#", "logLevel": "debug""#)),
            environment: environment
        )
        var surroundings = Daemon.Surroundings()
        surroundings.clock = traffic.clock
        surroundings.wallClock = { traffic.date }
        surroundings.wrap = { traffic.transport(over: $0) }
        let daemon = try Daemon(configuration, writer: writer, surroundings: surroundings)
        let hasEnded = Mutex(false)
        let running = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await daemon.run()
        }
        await self.emulator.clock.freeze(at: traffic.date)
        let time = Task { await traffic.pass { await self.emulator.clock.advance(by: $0) } }
        let result: Result<Void, any Error>
        do {
            while daemon.port == nil, !hasEnded.withLock({ $0 }) { await Task.yield() }
            if daemon.port == nil { try await running.value }
            let port = try #require(daemon.port)
            result = .success(try await body(try RunningDaemon(url: "http://127.0.0.1:\(port)")))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        let end = await running.result
        time.cancel()
        writer.flush()
        try log.close()
        try result.get()
        try end.get()
    }

    func createOperation(_ template: String, amount: String? = nil, account: String? = nil) async throws -> String {
        var parameters: [String: JSONValue] = [:]
        if let amount { parameters["amount"] = .string(amount) }
        if let account { parameters["iban"] = .string(account) }
        return try await self.emulator.cloud
            // Time passes fast here: it must not be over before the daemon has looked.
            .createOperation(template, userID: "alice", parameters: parameters, lifetime: .seconds(300 * 86_400)).id
    }

    /// The receipts in the store.
    func receipts() async throws -> [DecisionReceipt] {
        let store = ActivationStore.sqlite(path: self.storePath)
        let client = try self.emulator.makeClient { $0.store = store }
        var receipts: [DecisionReceipt] = []
        for try await receipt in client.receipts() { receipts.append(receipt) }
        await client.shutdown()
        await store.close()
        return receipts
    }

    /// Checks that each line is a JSON object with a time, a level and a message, and that none holds a secret.
    func checkLog(_ log: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> [JSONValue] {
        let lines = try log.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        for line in lines {
            #expect(line["time"]?.string?.hasSuffix("Z") == true, sourceLocation: sourceLocation)
            #expect(LogLevel(rawValue: line["level"]?.string ?? "") != nil, sourceLocation: sourceLocation)
            #expect(line["message"]?.string?.isEmpty == false, sourceLocation: sourceLocation)
        }
        for secret in [Self.password, self.emulator.sdkConfiguration, self.activationCode] {
            #expect(!log.contains(secret), sourceLocation: sourceLocation)
        }
        return lines
    }
}

/// The parts of a running daemon that a test may ask.
struct RunningDaemon: Sendable {
    let url: String
    private let transport: CurlTransport

    init(url: String) throws {
        self.url = url
        self.transport = try CurlTransport()
    }

    func get(_ path: String) async throws -> (status: Int, body: String) {
        let request = HTTPRequest(.get, url: self.url + path, timeout: .seconds(30))
        let response = try await self.transport.send(request)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    /// Asks for the metrics until they have this text.
    func waitForMetrics(with text: String) async throws -> String {
        while true {
            let metrics = try await self.get("/metrics").body
            if metrics.contains(text) { return metrics }
        }
    }

    /// Asks for the health until it has what is looked for.
    func waitForHealth<Value>(_ find: (JSONValue) -> Value?) async throws -> Value {
        while true {
            if let value = find(try JSONValue(parsing: try await self.get("/health").body)) { return value }
        }
    }

    /// Asks for a path until nothing is wrong with it.
    func waitUntilWell(_ path: String = "/health") async throws {
        while try await self.get(path).status != 200 {}
    }

    /// Asks for the health until it is bad for this reason.
    func waitUntilUnwell(because reason: String) async throws {
        while true {
            let response = try await self.get("/health")
            let reasons = try JSONValue(parsing: response.body)["reasons"]?.array ?? []
            #expect((response.status == 200) == reasons.isEmpty)
            if reasons.contains(.string(reason)) { return }
        }
    }
}

/// Counts requests on their way, so that time passes only while nobody waits for the network, which knows no clock.
final class Traffic: Sendable {
    let clock = ManualClock()
    private let start = Date()
    private let beginning: ManualClock.Instant
    private let count = Atomic(0)

    init() { self.beginning = self.clock.now }

    /// The date, which follows the clock.
    var date: Date { self.start + self.beginning.duration(to: self.clock.now) / .seconds(1) }

    private struct Counting: HTTPTransport {
        let base: CurlTransport
        let traffic: Traffic

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            self.traffic.count.add(1, ordering: .relaxed)
            defer { self.traffic.count.subtract(1, ordering: .relaxed) }
            return try await self.base.send(request)
        }
    }

    func transport(over base: CurlTransport) -> any HTTPTransport { Counting(base: base, traffic: self) }

    /// Lets time pass in steps, until the calling task is canceled.
    func pass(_ advanceOthers: (Duration) async -> Void) async {
        while !Task.isCancelled {
            var quiet = 0
            while quiet < 50, !Task.isCancelled {
                quiet = self.count.load(ordering: .relaxed) == 0 ? quiet + 1 : 0
                await Task.yield()
            }
            self.clock.advance(by: .milliseconds(250))
            await advanceOthers(.milliseconds(250))
        }
    }
}

/// A folder of mode 0700 that goes with its owner.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        self.path = FileManager.default.temporaryDirectory.appending(path: "approval-daemon-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: self.path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func file(_ name: String) -> String { self.path + "/" + name }

    @discardableResult
    func write(_ name: String, _ contents: String, mode: Int = 0o600) throws -> String {
        let path = self.file(name)
        try contents.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }
}
