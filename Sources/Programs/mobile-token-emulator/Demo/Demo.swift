import CommandLineSupport
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import ExactJSON
import MobileTokenOffline
import MobileTokenScreens

/// A demonstration of the SDK from activation to removal, against its own development server, over real sockets.
///
/// Each step describes and checks its action; the first failure ends the demonstration.
struct Demo {
    static let command = Command(
        "demo",
        summary: "Show the main job, end to end, against a development server of its own.",
        options: [.init("fast", nil, "do not wait for the poll: ask as soon as there is something to see")]
    ) { invocation in
        do {
            try await Demo(isFast: invocation.has("fast")).run()
            return .done
        } catch let failure as DemoFailure {
            Output.note("demo: \(failure)")
            return .refused
        }
    }

    private let isFast: Bool
    private let password = "correct horse battery staple"

    init(isFast: Bool) { self.isFast = isFast }

    func run() async throws {
        let emulator = try await Emulator.start()
        self.say("A development server listens at \(emulator.baseURL)")

        let transport = try CurlTransport()
        let bank = emulator.cloud
        var configuration = MobileTokenClient.Configuration()
        configuration.transport = transport
        configuration.store = ActivationStore.inMemory()
        let client = try MobileTokenClient(
            baseURL: emulator.baseURL,
            sdkConfiguration: emulator.sdkConfiguration,
            configuration: configuration
        )

        let registration = try await bank.register(userID: "alice")
        self.say("The bank registered alice; her activation code is \(registration.activationCode)")
        let activation = try await client.activate(
            code: registration.activationQRCode,
            name: "demonstration",
            password: self.password
        )
        self.say("Activated \(activation.activationID), fingerprint \(activation.fingerprint)")
        try await bank.commitRegistration(registration.id)
        let status = try await activation.status()
        try self.check(status.state == .active, "the activation is active after the commit")

        let service = OperationsService(activation: activation)
        try await self.decide(with: service, of: activation, bank: bank)
        try await self.signOffline(with: service, bank: bank, registrationID: registration.id)
        try await self.lookBack(with: service)

        try await activation.remove(authenticatedBy: .possessionAndKnowledge(password: self.password))
        self.say("The activation is removed")
        await transport.shutdown()
        await emulator.stop()
        Output.line("\nEverything happened as it should.")
    }

    /// Shows operations in the live stream: one is approved, one rejected, one claimed, one left to expire.
    private func decide(with service: OperationsService, of activation: Activation, bank: CloudClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.poll(every: .seconds(5)) }
            group.addTask { await ExpirationWatcher(activation: activation).watch(service) }
            let stream = LiveList(service: service, isFast: self.isFast)

            let payment = try await bank.createOperation("payment", userID: "alice", parameters: Self.payment).id
            let operation = try await stream.operation(payment)
            let form = operation.formData
            self.say("+ \(TextTable.printable(form.title)): \(TextTable.printable(form.message))")
            for attribute in operation.formData.attributes {
                // A heading has only a label.
                let shown = [attribute.label ?? "", attribute.text].filter { !$0.isEmpty }
                self.say("    " + shown.map(TextTable.printable).joined(separator: ": "))
            }
            try await service.authorize(operation, with: .possessionAndKnowledge(password: self.password))
            try self.check(try await bank.operation(payment).status == .approved, "approved with two factors")

            let login = try await bank.createOperation("login", userID: "alice").id
            try await service.reject(try await stream.operation(login), reason: .unexpectedOperation)
            try self.check(try await bank.operation(login).status == .rejected, "a login nobody expected is rejected")

            let shared = try await bank.createOperation("login", userID: nil).id
            let claimed = try await service.claim(id: shared)
            try await service.authorize(claimed, with: .possessionAndKnowledge(password: self.password))
            try self.check(
                try await bank.operation(shared).status == .approved,
                "an operation that belonged to nobody is claimed and approved"
            )

            let lifetime: Duration = .seconds(self.isFast ? 2 : 12)
            let short = try await bank.createOperation("login", userID: "alice", lifetime: lifetime).id
            _ = try await stream.operation(short)
            self.say("+ an operation that nobody decides; it expires soon")
            let reason = try await stream.removal(of: short)
            try self.check(reason == .expired, "it expired and left the list")
            group.cancelAll()
        }
    }

    private func signOffline(
        with service: OperationsService,
        bank: CloudClient,
        registrationID: String
    ) async throws {
        let id = try await bank.createOperation("payment", userID: "alice", parameters: Self.payment).id
        let qr = try await bank.offlineCode(operation: id, registration: registrationID)
        let operation = try OfflineOperation.Unverified(parsing: qr.content)
        let code = try await service.authorize(
            offline: operation,
            with: .possessionAndKnowledge(password: self.password)
        )
        self.say("An offline QR code, its signature verified, gives the code \(code)")
        let verdict = try await bank.verify(
            offlineCode: code,
            nonce: qr.nonce,
            operation: id,
            registration: registrationID
        )
        try self.check(verdict.isValid, "the bank accepts the offline code")
    }

    private func lookBack(with service: OperationsService) async throws {
        let history = try await service.history(authenticatedBy: .possessionAndKnowledge(password: self.password))
            .operations
        self.say("The history:\n\(history.table)")
        let statuses = Set(history.map(\.status))
        try self.check(
            statuses.isSuperset(of: [.approved, .rejected, .expired]),
            "the history shows approvals, the rejection and the expiry"
        )
    }

    private static let payment: [String: JSONValue] = [
        "amount": "1949.00", "currency": "CZK", "iban": "CZ5508000000001234567899", "note": "Utility bill",
    ]

    private func say(_ line: String) { Output.line(line) }

    private func check(_ condition: Bool, _ claim: String) throws {
        guard condition else { throw DemoFailure("failed: \(claim)") }
        Output.line("✓ \(claim)")
    }
}

/// The error of a failed step.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
