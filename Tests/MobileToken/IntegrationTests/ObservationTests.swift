import StoreTesting
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// The events that an observer gets of a whole run, and the secrets that it must never get.
@Suite(.timeLimit(.minutes(5))) struct ObservationTests {
    @Test func everyRequestHasAStartAndAnEndOfTheSameActivation() async throws {
        try await Run.with { run in
            try await run.liveThroughEverything()
            // A list that the agent had asked for ends a moment after the agent.
            await until { run.observer.requests.allSatisfy { !$0.ends.isEmpty } }
            let requests = run.observer.requests
            #expect(Set(requests.map(\.start.id)).count == requests.count)
            for request in requests {
                #expect(request.ends.count == 1, "\(request.start.path) ended \(request.ends.count) times")
                // Before there is an activation, and for what belongs to the application.
                let isOfNobody = ["/pa/v3/activation/create", "/pa/v3/status", "/pa/v3/keystore/create"]
                if !isOfNobody.contains(request.start.path) {
                    #expect(request.start.activationID == run.activation.activationID, "\(request.start.path)")
                }
            }
            let results = requests.compactMap(\.ends.first)
            #expect(results.allSatisfy { ($0.outcome == .succeeded) == ($0.error == nil && $0.httpStatus == 200) })
            #expect(results.contains { $0.outcome == .refused && $0.error?.code == .authenticationFailed })
            #expect(results.contains { $0.outcome == .failed && $0.httpStatus == 503 })
            #expect(results.contains { $0.outcome == .failed && $0.error?.code == .connectionLost })
        }
    }

    @Test func decisionsSignaturesAndReceiptsAreTold() async throws {
        try await Run.with { run in
            try await run.liveThroughEverything()
            let decisions = run.observer.decisions
            #expect(decisions.map(\.operationID) == run.decided)
            #expect(decisions.map(\.verdict) == [.approve, .reject, .approve, .approve, .approve, .approve, .approve])
            #expect(
                decisions.map(\.result) == [
                    .accepted, .accepted, .refused(code: "authenticationFailed", serverCode: "POWERAUTH_AUTH_FAIL"),
                    .accepted, .unanswered(code: "connectionLost"), .followed, .inferred,
                ]
            )
            let factors = ["possession_knowledge", "possession", "possession_knowledge", "possession_knowledge"]
            #expect(decisions.prefix(4).map(\.factors) == factors)
            #expect(decisions.suffix(3).map(\.policyName) == ["everything", nil, nil])

            let signatures = run.observer.signatures
            #expect(signatures.allSatisfy { $0.activationID == run.activation.activationID })
            #expect(signatures.first?.counterDistance == 1)
            // One that nobody carried to the server, and the next one after it was settled.
            let offline = try #require(signatures.firstIndex { $0.path == nil })
            #expect(signatures[offline].factors == "possession_knowledge")
            #expect(signatures[(offline + 1)...].contains { $0.counterDistance > 1 })

            let receipts = run.observer.receipts
            #expect(receipts.count { $0.kind == .intentWritten } == 5)
            #expect(receipts.count { $0.kind == .outcomeRecorded } == 5)
            #expect(receipts.filter { $0.kind == .openRowResolved }.map(\.result) == [.followed, .inferred])
            #expect(run.observer.reports.map(\.kind).prefix(3) == ["judged", "unanswered", "decided"])
            #expect(run.observer.states.map(\.phase).contains("active"))
        }
    }

    @Test func nothingThatAnObserverIsToldHoldsASecret() async throws {
        try await Run.with { run in
            let before = try await run.secrets()
            try await run.liveThroughEverything()
            let secrets = before.merging(try await run.secrets()) { $1 }
            let told = run.observer.everything
            #expect(told.utf8.count > 10_000, "the observer was told too little for the search to mean anything")
            // The search finds what is there.
            #expect(told.contains(run.activation.activationID))
            for (name, forms) in secrets {
                for form in forms { #expect(!told.contains(form), "an observer was told \(name)") }
            }
        }
    }

    /// A journal that is full takes no outcome; the decision is made all the same.
    @Test func anOutcomeThatCannotBeWrittenIsTold() async throws {
        try await withEmulator { emulator in
            let observer = CuriousObserver()
            let client = try emulator.makeClient {
                $0.store = .inMemory { ForgetfulDriver(base: $0) }
                $0.observer = observer
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let operation = try await emulator.offer("payment", to: "alice", on: service)
            try await service.authorize(operation, with: .twoFactors)
            #expect(observer.decisions.map(\.result) == [.accepted])
            #expect(observer.receipts.map(\.kind) == [.intentWritten, .outcomeNotWritten])
            #expect(observer.receipts.last?.error?.code == .storeFull)
        }
    }
}

/// One life of an activation, and who watched it.
private struct Run {
    static let wrongPassword = "battery staple"
    static let otp = "90210-otp"

    let emulator: Emulator
    let client: MobileTokenClient
    let activation: Activation
    let code: String
    let observer: CuriousObserver
    /// The texts that went over the wire, in both directions.
    let wire: Shared<[String]>
    let biometryKey = SecureRandom.secret(16)
    let offlineCodes = Shared<[String]>([])
    let operations = Shared<[String]>([])

    /// The operations that decisions were made on, once for each time it was told.
    var decided: [String] { self.operations.value }

    static func with(_ body: (Run) async throws -> Void) async throws {
        try await withEmulator { emulator in
            let (observer, wire) = (CuriousObserver(), Shared<[String]>([]))
            let transport = try InterceptingTransport { request, deliver in
                for name in ["X-PowerAuth-Authorization", "X-PowerAuth-Token", "X-PowerAuth-Encryption"] {
                    if let value = request.headers[name] { wire.update { $0.append(value) } }
                }
                return try await deliver(request)
            }
            let client = try emulator.makeClient {
                $0.observer = observer
                $0.transport = transport
            }
            let registration = try await emulator.cloud.register(userID: "alice")
            var request = try ActivationRequest(code: registration.activationQRCode)
            request.otp = Self.otp
            let activation = try await client.activate(request, password: SecretBytes(utf8: password)).activation
            // The code that the device gives makes it active without a commit.
            try await body(
                Run(
                    emulator: emulator,
                    client: client,
                    activation: activation,
                    code: registration.activationQRCode,
                    observer: observer,
                    wire: wire
                )
            )
        }
    }

    /// Approves, rejects, mistypes, opens the vault, signs offline, meets with faults, and lets an agent decide.
    func liveThroughEverything() async throws {
        let service = self.client.makeOperationsService(for: self.activation)
        try await self.decide(on: service) { try await service.authorize($0, with: .twoFactors) }
        try await self.decide(on: service) { try await service.reject($0, reason: .unexpectedOperation) }
        try await self.decide(on: service) { operation in
            let wrong = Activation.Authentication.possessionAndKnowledge(password: Self.wrongPassword)
            await #expect(throws: MobileTokenError.self) { try await service.authorize(operation, with: wrong) }
        }
        _ = try await self.activation.deriveDataKey(index: 7, with: .twoFactors)
        _ = try await self.activation.signWithDeviceKey([1, 2, 3], with: .twoFactors)
        try await self.activation.addBiometryFactor(key: self.biometryKey, password: SecretBytes(utf8: password))
        try await self.activation.requestToken("another", with: .twoFactors)
        let offline = try await self.activation.offlineSignature(
            data: Array("data".utf8),
            nonce: SecureRandom.bytes(16),
            uriID: "/operation/authorize/offline",
            with: .twoFactors
        )
        self.offlineCodes.update { $0.append(offline) }
        try await self.decide(on: service) { try await service.authorize($0, with: .twoFactors) }
        for effect: FaultRule.Effect in [.unavailable(), .lostAnswer, .init(body: .garbage), .init(body: .truncated)] {
            try await self.emulator.withFault(effect, on: "/api/**") {
                await #expect(throws: MobileTokenError.self) { try await service.operations() }
            }
        }
        try await self.letAnAgentDecide()
    }

    private func decide(
        on service: OperationsService,
        _ body: (UserOperation) async throws -> Void
    ) async throws {
        let operation = try await self.emulator.offer("payment", to: "alice", on: service)
        self.operations.update { $0.append(operation.id) }
        try await body(operation)
    }

    /// An agent whose one approval is carried out, and not answered.
    private func letAnAgentDecide() async throws {
        for operation in try await self.client.makeOperationsService(for: self.activation).operations() {
            try await self.emulator.cloud.cancelOperation(operation.id)
        }
        let operation = try await self.emulator.cloud.createOperation("payment", userID: "alice")
        self.operations.update { $0 += [operation.id, operation.id, operation.id] }
        let (clock, traffic) = (ManualClock(), Traffic())
        let agent = try ApprovalAgent(
            operations: OperationsService(activation: self.activation, configuration: .on(clock)),
            factors: { .twoFactors },
            configuration: altered(ApprovalAgent.Configuration.patient) { $0.policyName = "everything" }
        ) { _ in .approve }
        let path = "/api/auth/token/app/operation/authorize"
        try await self.emulator.withFault(.lostAnswer, on: path, first: 1) {
            try await traffic.run(agent, clock) { events in
                while let event = await events.next(isolation: #isolation) {
                    if case .decided = event.kind { break }
                }
            }
        }
    }

    /// Everything that nobody may be told, by name, in each form that it could be told in.
    func secrets() async throws -> [String: [String]] {
        let store = try #require(self.client.configuration.store)
        let record = try #require(try await store.record(of: self.activation.activationID))
        let keys = try #require(record.version3)
        let knowledge = try KnowledgeKeyProtection.unprotect(
            keys.encryptedKnowledgeKey,
            password: SecretBytes(utf8: password),
            salt: keys.knowledgeSalt
        )
        var secrets = [
            "the password": [password], "the wrong password": [Self.wrongPassword], "the one-time password": [Self.otp],
            "the activation code": [self.code, String(self.code.prefix(23))],
            "the configuration": [self.emulator.sdkConfiguration],
            "a header": self.wire.value,
            "an offline signature": self.offlineCodes.value,
            "the possession key": keys.possessionKey.forms, "the transport key": keys.transportKey.forms,
            "the knowledge key": knowledge.forms, "the biometry key": self.biometryKey.forms,
            "the device's key": keys.encryptedDevicePrivateKey.forms,
            "the sealed knowledge key": keys.encryptedKnowledgeKey.forms,
            "the counter \(record.history.moves)": record.counter.data.forms,
        ]
        for token in record.tokens.values { secrets["the token \(token.id)"] = token.secret.forms }
        return secrets
    }
}

extension SecretBytes {
    /// The encodings in which the bytes could be written.
    fileprivate var forms: [String] { self.withUnsafeBytes { Array($0).forms } }
}

extension [UInt8] {
    fileprivate var forms: [String] {
        let hexadecimal = self.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
        let decimal = self.map(String.init).joined(separator: ", ")
        return [hexadecimal, hexadecimal.uppercased(), Base64.encode(self), self.base64URL, decimal]
    }

    private var base64URL: String {
        Base64.encode(self).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// Keeps everything that it is told, with all that hangs on it.
private final class CuriousObserver: MobileTokenObserver {
    struct Request {
        let start: MobileTokenObservation.Request
        var ends: [MobileTokenObservation.Request.Result] = []
    }

    private let told = Shared<String>("")
    private let seen = Shared<[Request]>([])
    private let ended = Shared<[MobileTokenObservation.Decision]>([])
    private let signed = Shared<[MobileTokenObservation.Signature]>([])
    private let written = Shared<[MobileTokenObservation.Receipt]>([])
    private let changed = Shared<[MobileTokenObservation.ActivationState]>([])
    private let reported = Shared<[MobileTokenObservation.Agent]>([])

    var everything: String { self.told.value }
    var requests: [Request] { self.seen.value }
    var decisions: [MobileTokenObservation.Decision] { self.ended.value }
    var signatures: [MobileTokenObservation.Signature] { self.signed.value }
    var receipts: [MobileTokenObservation.Receipt] { self.written.value }
    var states: [MobileTokenObservation.ActivationState] { self.changed.value }
    var reports: [MobileTokenObservation.Agent] { self.reported.value }

    /// As it prints, and as it is taken apart.
    private func tell(_ values: Any...) {
        self.told.update { told in
            for value in values {
                told += "\(value)\n\(String(reflecting: value))\n"
                dump(value, to: &told)
            }
        }
    }

    func requestStarted(_ request: MobileTokenObservation.Request) {
        self.tell(request)
        self.seen.update { $0.append(Request(start: request)) }
    }

    func requestFinished(_ request: MobileTokenObservation.Request, with result: MobileTokenObservation.Request.Result)
    {
        self.tell(request, result)
        self.seen.update { requests in
            guard let index = requests.firstIndex(where: { $0.start.id == request.id }) else { return }
            requests[index].ends.append(result)
        }
    }

    func requestRetried(_ retry: MobileTokenObservation.Retry) { self.tell(retry) }

    func signatureMade(_ signature: MobileTokenObservation.Signature) {
        self.tell(signature)
        self.signed.update { $0.append(signature) }
    }

    func counterCompared(_ comparison: CounterComparison, of activationID: String) {
        self.tell(comparison, activationID)
    }

    func decisionEnded(_ decision: MobileTokenObservation.Decision) {
        self.tell(decision)
        self.ended.update { $0.append(decision) }
    }

    func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
        self.tell(receipt)
        self.written.update { $0.append(receipt) }
    }

    func pollStarted(_ poll: MobileTokenObservation.Poll) { self.tell(poll) }
    func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {
        self.tell(activationID, requested, used)
    }
    func operationListChanged(_ list: MobileTokenObservation.OperationList) { self.tell(list) }

    func activationStateChanged(_ state: MobileTokenObservation.ActivationState) {
        self.tell(state)
        self.changed.update { $0.append(state) }
    }

    func fleetOpened(_ count: Int, of total: Int) { self.tell(count, total) }

    func agentReported(_ report: MobileTokenObservation.Agent) {
        self.tell(report)
        self.reported.update { $0.append(report) }
    }
}

/// A driver that has room for intents, and none for what became of them.
private struct ForgetfulDriver: ForwardingDriver {
    let base: any JournalDriver

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        throw MobileTokenError(.storeFull, "no room")
    }
}
