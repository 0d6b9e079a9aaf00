import Coordination
import EmulatorBackend
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
public import MobileTokenApprovals
import MobileTokenCloud
import PowerAuth
import Synchronization

/// A person in a test of code that asks: what they do about every question.
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

    /// A person who approves, so long after they are asked.
    public static func approves(after delay: Duration = .zero) -> Self { Self(verdict: .approves, delay: delay) }
    /// A person who approves, while the server shows that other data were signed.
    public static func approves(data: String, after delay: Duration = .zero) -> Self {
        Self(verdict: .approves, delay: delay, data: data)
    }
    /// A person who rejects for a reason, so long after they are asked.
    public static func rejects(_ reason: String, after delay: Duration = .zero) -> Self {
        Self(verdict: .rejects(reason), delay: delay)
    }
    /// A person who does not answer.
    public static var silent: Self { Self(verdict: .silent, delay: .zero) }
    /// A person who approves, and of whose questions the server's first answers are lost: the question is asked again.
    public static func losesAnswers(_ count: Int, after delay: Duration = .zero) -> Self {
        Self(verdict: .approves, delay: delay, lostAnswers: count)
    }
}

extension ApprovalDesk {
    /// Returns a desk whose people do as the script says, over the development server's backend, without a socket and in test time.
    ///
    /// ```swift
    /// let clock = ManualClock()
    /// let desk = try await ApprovalDesk.scripted(["alice": .approves(after: .seconds(3)), "bob": .rejects("no")], clock: clock)
    /// async let result = desk.perform(request) { approval in try deploy(approval.action) }
    /// await clock.waitForSleepers(1)
    /// clock.advance(by: .seconds(5))
    /// ```
    /// Each person has a device, which signs as a phone does. Somebody who is not in the script has none, and never answers. Templates need
    /// not be made: the server has those that are asked for, in the form that the request pins.
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
        configure(&configuration)
        return try await ApprovalDesk(audience: audience, server: server, ledger: ledger, configuration: configuration)
    }
}

/// The backend of a development server, with people who decide by a script.
package final class ScriptedServer: ApprovalServer {
    /// The time of the server: the clock's, or the moment at which a person decides.
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

    /// An operation that a person has not decided yet.
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
    /// The backend, for what a test wants to see of it.
    package let backend: BackendTransport
    private let people: [String: ScriptedApprover]
    private let cloud: CloudServer
    private let devices: [String: OperationsService]
    private let state: Mutex<State>
    /// One call at a time: while a person decides, the server's time is that moment's.
    private let turns = KeyedSemaphore()

    package init(_ people: [String: ScriptedApprover], clock: ManualClock) async throws {
        let time = Time(clock)
        let backend = try BackendTransport(now: { time.ofServer })
        (self.time, self.backend, self.people) = (time, backend, people)
        self.state = Mutex(State(lost: people.mapValues(\.lostAnswers)))
        var configuration = CloudClient.Configuration()
        configuration.transport = DatedTransport(backend: backend, time: time)
        configuration.clock = clock
        self.cloud = CloudServer(
            try CloudClient(
                baseURL: "https://cloud.test",
                credentials: .init(user: "bank", password: "bank"),
                configuration: configuration
            )
        )
        var devices: [String: OperationsService] = [:]
        for (user, approver) in people {
            if case .silent = approver.verdict { continue }
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
        return client.operations(of: activation)
    }

    // MARK: Calls

    package var timeout: Duration { self.cloud.timeout }

    package func time() async throws(ServerFailure) -> Int64? {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        return try await self.cloud.time()
    }

    private func takeTurn() async throws(ServerFailure) {
        do { try await self.turns.enter("") } catch {
            throw ServerFailure(.canceled, code: "canceled", message: "The call was canceled")
        }
    }

    package func create(_ operation: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        self.install(operation.template, operation.parameters.keys)
        let answer = try await self.cloud.create(operation)
        let user = operation.userID
        if let person = self.people[user], self.devices[user] != nil {
            let (seconds, attoseconds) = person.delay.components
            let due = self.time.now.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
            self.state.withLock { $0.tasks.append(Task(id: answer.value.id, user: user, due: due)) }
        }
        let isLost = self.state.withLock { state in
            guard let count = state.lost[user], count > 0 else { return false }
            state.lost[user] = count - 1
            return true
        }
        guard !isLost else {
            throw ServerFailure(
                .unanswered(isOutcomeUnknown: true),
                code: "connectionLost",
                message: "The answer was lost"
            )
        }
        return answer
    }

    package func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        try await self.decide()
        var answer = try await self.cloud.show(operation: id)
        if answer.value.status == .approved, let data = self.state.withLock({ $0.shown[id] }) {
            answer.value.data = data
        }
        return answer
    }

    package func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        try await self.decide()
        return try await self.cloud.cancel(operation: id, reason: reason)
    }

    package func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration> {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        return try await self.cloud.show(registration: id)
    }

    package func offlineCode(ofOperation id: String, registration: String) async throws(ServerFailure) -> Dated<String>
    {
        try await self.takeTurn()
        defer { self.turns.leave("") }
        return try await self.cloud.offlineCode(ofOperation: id, registration: registration)
    }

    // MARK: People

    /// Lets everybody decide whose moment has come, each at their moment.
    private func decide() async throws(ServerFailure) {
        while let task = self.state.withLock({ self.takeDue(&$0) }) {
            do {
                try await self.time.at(task.due) { try await self.decide(task) }
            } catch {
                throw ServerFailure(
                    .unanswered(isOutcomeUnknown: false),
                    code: "script",
                    message: "A device of the script failed: \(error)",
                    underlying: error
                )
            }
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
        // Canceled, or expired before.
        guard let operation = try await device.operations().first(where: { $0.id == task.id }) else { return }
        switch person.verdict {
        case .approves:
            try await device.authorize(operation, with: .possessionAndKnowledge(password: Self.password))
            if let data = person.data { self.state.withLock { $0.shown[task.id] = data } }
        case .rejects(let reason): try await device.reject(operation, reason: .init(reason))
        case .silent: break
        }
    }

    /// Makes the template that is asked for, in the form that the request pins.
    private func install(_ template: ApprovalTemplate, _ parameters: some Sequence<String>) {
        let attributes = parameters.sorted().enumerated().map { index, name -> JSONValue in
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

/// The backend, with the server's time in its answers.
private struct DatedTransport: HTTPTransport {
    let backend: BackendTransport
    let time: ScriptedServer.Time

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = self.backend.response(to: request)
        response.headers = HTTPHeaders(
            response.headers.fields + [HTTPHeaders.Field(name: "Date", value: Self.string(from: self.time.now))]
        )
        return response
    }

    /// As RFC 9110 § 5.6.7 writes it.
    private static func string(from date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }
}
