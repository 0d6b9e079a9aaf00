import Coordination
import EmulatorBackend
import ExactJSON
import Foundation
package import HTTPClientTransport
import MobileToken
public import MobileTokenApprovals
import MobileTokenCloud
import PowerAuthClient
import Synchronization

/// A person in a test of asking code, with their reaction to every question.
public struct ScriptedApprover: Sendable {
    enum Verdict: Sendable {
        case approves
        case rejects(String)
        case silent
    }

    var verdict: Verdict
    var delay: Duration
    var data: String?
    var lostAnswers = 0

    /// A person who approves after a delay.
    public static func approves(after delay: Duration = .zero) -> Self { Self(verdict: .approves, delay: delay) }
    /// A person who approves after a delay, while the server shows other signed data.
    public static func approves(data: String, after delay: Duration = .zero) -> Self {
        Self(verdict: .approves, delay: delay, data: data)
    }
    /// A person who rejects with a reason after a delay.
    public static func rejects(_ reason: String, after delay: Duration = .zero) -> Self {
        Self(verdict: .rejects(reason), delay: delay)
    }
    /// A person who does not answer.
    public static var silent: Self { Self(verdict: .silent, delay: .zero) }
    /// A person who approves, but for whose questions the server's first responses are lost: the question is asked again.
    public static func losesAnswers(_ count: Int, after delay: Duration = .zero) -> Self {
        Self(verdict: .approves, delay: delay, lostAnswers: count)
    }
}

extension ApprovalDesk {
    /// Creates a desk with scripted people, over the development server's backend, without a socket and in test time.
    ///
    /// ```swift
    /// let clock = ManualClock()
    /// let desk = try await ApprovalDesk.scripted(["alice": .approves(after: .seconds(3)), "bob": .rejects("no")], clock: clock)
    /// async let result = desk.perform(request) { approval in try deploy(approval.action) }
    /// await clock.waitForSleepers(1)
    /// clock.advance(by: .seconds(5))
    /// ```
    /// Each person has a device, which signs as a phone does. People missing from the script have none, and are not asked.
    /// Templates are created on demand, in the form that the request pins.
    ///
    /// - Parameters:
    ///   - people: The script of each person, by user id.
    ///   - clock: The time of the desk and the server.
    ///   - audience: The desk's audience.
    ///   - ledger: The desk's ledger.
    ///   - configure: Changes the desk's configuration.
    public static func scripted(
        _ people: [String: ScriptedApprover],
        clock: ManualClock,
        audience: String = "test",
        ledger: ApprovalLedger = .inMemory(),
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> ApprovalDesk {
        let server = try await ScriptedServer(people, clock: clock)
        var configuration = Configuration()
        configuration.clock = clock
        configuration.now = server.time.date
        configuration.willAsk = { template in server.templates.withLock { $0[template.name] = template } }
        configure(&configuration)
        return try await ApprovalDesk(
            audience: audience,
            cloud: CloudClient(inProcess: server),
            ledger: ledger,
            configuration: configuration
        )
    }
}

/// A development server's backend with scripted people.
package final class ScriptedServer: HTTPTransport {
    /// The server's time: the clock's, or the moment of a person's decision.
    final class Time: Sendable {
        private let clock: ManualClock
        private let start: ManualClock.Instant
        private let base = Date(timeIntervalSince1970: 1_800_000_000)
        private let override = Mutex<Date?>(nil)

        init(_ clock: ManualClock) {
            self.clock = clock
            self.start = clock.now
        }

        /// The desk's time.
        var date: @Sendable () -> Date { { self.now } }

        /// The server's time.
        var ofServer: Date { self.override.withLock { $0 } ?? self.now }

        var now: Date {
            let (seconds, attoseconds) = self.start.duration(to: self.clock.now).components
            return self.base.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
        }

        func at(_ date: Date?, _ body: () async throws -> Void) async rethrows {
            self.override.withLock { $0 = date }
            defer { self.override.withLock { $0 = nil } }
            try await body()
        }
    }

    /// An undecided operation of a person.
    private struct Task {
        let id: String
        let user: String
        let due: Date
    }

    private struct State {
        var tasks: [Task] = []
        var lost: [String: Int] = [:]
        var shown: [String: String] = [:]
    }

    let time: Time
    /// The templates that requests pin.
    fileprivate let templates = Mutex<[String: ApprovalTemplate]>([:])
    /// The backend, for inspection by tests.
    package let backend: BackendTransport
    private let people: [String: ScriptedApprover]
    private let devices: [String: OperationsService]
    private let state: Mutex<State>
    /// Serializes calls: during a person's decision, the server's time is that moment.
    private let turns = KeyedSemaphore()

    package init(_ people: [String: ScriptedApprover], clock: ManualClock) async throws {
        let time = Time(clock)
        let backend = try BackendTransport(now: { time.ofServer })
        (self.time, self.backend, self.people) = (time, backend, people)
        self.state = Mutex(State(lost: people.mapValues(\.lostAnswers)))
        var devices: [String: OperationsService] = [:]
        for user in people.keys {
            devices[user] = try await Self.device(of: user, backend, time)
        }
        self.devices = devices
    }

    private static let password = "1234"

    private static func device(of user: String, _ backend: BackendTransport, _ time: Time) async throws
        -> OperationsService
    {
        let registration = try backend.cloud(
            .post,
            "/v2/registrations",
            ["userId": .string(user), "commitPhase": "ON_KEY_EXCHANGE"]
        )
        guard
            let code = registration["responseObject"]?["activationQrCodeData"]?.string
                ?? registration["activationQrCodeData"]?.string
        else { throw MobileTokenError(.invalidResponse, "The backend registers nobody: \(registration)") }
        var configuration = MobileTokenClient.Configuration()
        configuration.store = .inMemory()
        configuration.transport = backend
        configuration.wallClock = { time.ofServer }
        let client = try MobileTokenClient(
            baseURL: "https://cloud.test/enrollment-server",
            sdkConfiguration: backend.withBackend { $0.defaultApplication.sdkConfiguration },
            configuration: configuration
        )
        let activation = try await client.activate(code: code, name: user, password: Self.password)
        return client.makeOperationsService(for: activation)
    }

    // MARK: Calls

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self.turns.enter("")
        defer { self.turns.leave("") }
        let isOperation = request.url.contains("/v2/operations")
        if isOperation, request.method == .post {
            try self.install(try JSONValue(parsing: request.body ?? []))
        } else if isOperation {
            try await self.decide()
        }
        var response = self.backend.response(toBank: request)
        response.headers.add(name: "Date", value: HTTPDate.string(from: self.time.now))
        if isOperation, response.status == 200 {
            let operation = try JSONValue(parsing: response.body)
            if request.method == .post { try self.schedule(operation) }
            response.body = self.shown(operation).serialized()
        }
        return response
    }

    /// Plans the person's decision, unless the answer is to be lost.
    private func schedule(_ operation: JSONValue) throws {
        guard let id = operation["operationId"]?.string, let user = operation["userId"]?.string,
            let person = self.people[user]
        else { return }
        let (seconds, attoseconds) = person.delay.components
        let due = self.time.now.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
        let isLost = self.state.withLock { state in
            state.tasks.append(Task(id: id, user: user, due: due))
            guard let count = state.lost[user], count > 0 else { return false }
            state.lost[user] = count - 1
            return true
        }
        if isLost { throw HTTPTransportError(.connectionLost) }
    }

    /// The operation with the data that the script has the server show.
    private func shown(_ operation: JSONValue) -> JSONValue {
        guard operation["status"]?.string == "APPROVED", let id = operation["operationId"]?.string,
            let data = self.state.withLock({ $0.shown[id] }), var object = operation.object
        else { return operation }
        object["data"] = .string(data)
        return .object(object)
    }

    // MARK: People

    /// Makes all due decisions, each at its time.
    private func decide() async throws {
        while let task = self.state.withLock({ self.takeDue(&$0) }) {
            try await self.time.at(task.due) { try await self.decide(task) }
        }
    }

    private func takeDue(_ state: inout State) -> Task? {
        let now = self.time.now
        let due = state.tasks.indices.filter { state.tasks[$0].due <= now }
        guard let index = due.min(by: { state.tasks[$0].due < state.tasks[$1].due }) else { return nil }
        return state.tasks.remove(at: index)
    }

    private func decide(_ task: Task) async throws {
        guard let device = self.devices[task.user], let person = self.people[task.user] else { return }
        // Already canceled or expired.
        guard let operation = try await device.operations().first(where: { $0.id == task.id }) else { return }
        switch person.verdict {
        case .approves:
            try await device.authorize(operation, with: .possessionAndKnowledge(password: Self.password))
            if let data = person.data { self.state.withLock { $0.shown[task.id] = data } }
        case .rejects(let reason): try await device.reject(operation, reason: .init(rawValue: reason))
        case .silent: break
        }
    }

    /// Creates the template of an operation, in the form that the request pins.
    private func install(_ operation: JSONValue) throws {
        guard let template = operation["template"]?.string.flatMap({ name in self.templates.withLock { $0[name] } })
        else { return }
        let names = operation["parameters"]?.object?.members.map(\.key) ?? []
        let attributes = names.sorted().enumerated().map { index, name -> JSONValue in
            ["type": "KEY_VALUE", "id": .string("a\(index)"), "label": .string(name), "value": .string("${\(name)}")]
        }
        let document: JSONValue = [
            "name": .string(template.name), "data": .string(template.signs),
            "operationType": .string(template.operationType ?? template.name),
            "allowedSignatureType": ["type": "2FA", "variants": ["possession_knowledge"]],
            "formData": [
                "title": .string(template.name), "message": "${fingerprint}", "attributes": .array(attributes),
            ],
        ]
        self.backend.withBackend { backend in
            guard let made = try? OperationTemplate(document) else { return }
            try? backend.insert(made)
        }
    }
}
