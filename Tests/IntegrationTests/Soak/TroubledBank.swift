import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import TestSupport

/// A bank on a bad day: it makes operations, cancels some, blocks, unblocks and removes devices, and commits others late.
struct TroubledBank {
    /// The length and the hardships of the day.
    struct Plan {
        var deviceCount = 100
        /// Seconds of trouble.
        var duration = 3_600
        var pollInterval = Duration.seconds(5)
        /// The number of operations that the bank makes a second.
        var operationsPerSecond = 0.9
    }

    /// The kind of an operation, and the policy's verdict on it.
    enum Kind: CaseIterable {
        case login, smallPayment
        case quickLogin
        /// More than the policy allows.
        case largePayment
        /// With a warning for a person.
        case suspiciousPayment
        /// Of which something else gets signed than is shown.
        case deceptivePayment
        /// The screen cannot be understood as a whole. A policy that is asked all the same approves it.
        case vagueTrap, strangeTrap, feeTrap

        /// The state that a decision leads to; `nil` for what is left to people.
        var decided: String? {
            switch self {
            case .login, .smallPayment: "APPROVED"
            case .quickLogin: "REJECTED"
            case .largePayment, .suspiciousPayment, .deceptivePayment, .vagueTrap, .strangeTrap, .feeTrap: nil
            }
        }

        var template: String {
            switch self {
            case .login: "login"
            case .quickLogin: "login_1FA"
            case .smallPayment, .largePayment: "payment"
            case .suspiciousPayment: "payment_suspicious"
            case .deceptivePayment: "deceptive"
            case .vagueTrap: "vague"
            case .strangeTrap: "strange"
            case .feeTrap: "fee"
            }
        }

        var parameters: [String: JSONValue] {
            switch self {
            case .smallPayment, .suspiciousPayment: ["amount": "49.90"]
            case .largePayment: ["amount": "50.01"]
            default: [:]
            }
        }
    }

    struct Device {
        let activationID: String
        let registrationID: String
        let user: String
        /// The event that it waits for, and its second: the commit, or the end of a blocking.
        var wait: (isCommit: Bool, until: Int)?
        var isRemoved = false
        /// `true` if it could not decide for a while.
        var hadTrouble = false
    }

    struct Operation {
        let kind: Kind
        let device: Int
        let made: Int
    }

    let emulator: Emulator
    let plan: Plan
    var generator: SeededGenerator
    private(set) var devices: [Device] = []
    private(set) var operations: [String: Operation] = [:]
    private var hasCanceled = false

    init(_ emulator: Emulator, _ plan: Plan, _ generator: SeededGenerator) {
        (self.emulator, self.plan) = (emulator, plan)
        self.generator = generator
    }

    /// The policy of the agent.
    static let policy: ApprovalAgent.Policy = { review in
        switch review.operation.name {
        case "login", "trap": return .approve
        case "login_1FA": return .reject(.unexpectedOperation)
        default:
            guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .leave }
            return .approve
        }
    }

    private static let amount =
        #"{"type": "AMOUNT", "id": "amount", "label": "Amount", "amount": 20, "currency": "CZK"}"#

    static let templates = [
        // Shows 20 CZK, and has a million signed.
        Self.template("deceptive", type: "authorize_payment", data: "A1*A1000000CZK*I${iban}", [Self.amount]),
        Self.template(
            "vague",
            data: "A1*A20CZK*I${iban}",
            [
                #"""
                {"type": "AMOUNT", "id": "amount", "label": "Amount", "amountFormatted": "a little", "currencyFormatted": "CZK"}
                """#
            ]
        ),
        Self.template(
            "strange",
            data: "A1*A20CZK*I${iban}",
            [Self.amount, #"{"type": "HOLOGRAM", "id": "picture", "label": "Look"}"#]
        ),
        Self.template(
            "fee",
            data: "A1*A20CZK*I${iban}",
            [Self.amount, #"{"type": "AMOUNT", "id": "fee", "label": "Fee", "amount": 900, "currency": "EUR"}"#]
        ),
    ]

    private static func template(
        _ name: String,
        type: String = "trap",
        data: String,
        _ attributes: [String]
    ) -> String {
        let account = #"{"type": "KEY_VALUE", "id": "account", "label": "To", "value": "${iban}"}"#
        return #"""
            {
              "name": "\#(name)", "operationType": "\#(type)", "data": "\#(data)",
              "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
              "parameters": {"iban": "CZ5508000000001234567899"},
              "texts": {"en": {"title": "Payment"}},
              "formData": {
                "title": "@{title}", "message": "@{title}",
                "attributes": [\#((attributes + [account]).joined(separator: ", "))]
              }
            }
            """#
    }

    /// - Parameter probability: That a request is struck, of each effect.
    static func faults(_ probability: Double) -> [FaultRule] {
        let effects: [(String, FaultRule.Effect)] = [
            ("lost request", .lostRequest), ("lost response", .lostAnswer), ("500", .init(status: 500)),
            ("Retry-After", .unavailable(retryAfter: 5)), ("502 garbage", .init(status: 502, body: .garbage)),
            ("garbage", .init(body: .garbage)), ("truncated", .init(body: .truncated)),
        ]
        return ["/api/**", "/pa/v3/**"].flatMap { path in
            effects.map { name, effect in
                FaultRule(name: name, match: .init(path: path, probability: probability), effect: effect)
            }
        }
    }

    // MARK: Life

    /// Registers a device; every fourth waits for its commit.
    mutating func register(with client: MobileTokenClient) async throws {
        let user = "user \(self.devices.count)"
        let registration = try await self.emulator.cloud.register(userID: user)
        let activation = try await client.activate(code: registration.activationQRCode, password: password)
        let isLate = self.devices.count % 4 == 3
        if !isLate { try await self.emulator.cloud.commitRegistration(registration.id) }
        self.devices.append(
            Device(
                activationID: activation.activationID,
                registrationID: registration.id,
                user: user,
                wait: isLate ? (true, Int.random(in: 30..<120, using: &self.generator)) : nil,
                hadTrouble: isLate
            )
        )
    }

    /// Performs the events of each second up to this one.
    mutating func live(through second: Int) async throws {
        for index in self.devices.indices { try await self.endWait(of: index, at: second) }
        if self.happens(self.plan.operationsPerSecond) { try await self.makeOperation(at: second) }
        if self.happens(0.02) { try await self.cancelOperation(at: second) }
        if self.happens(0.0002 * Double(self.devices.count)) { try await self.block(at: second) }
        if self.happens(0.00005 * Double(self.devices.count)) { try await self.remove() }
    }

    /// Everything that waits is let go on.
    mutating func calmDown() async throws {
        await self.emulator.faults.removeAll()
        for index in self.devices.indices { try await self.endWait(of: index, at: .max) }
    }

    /// Makes one more operation for each decision, of a device that can decide.
    mutating func makeFinalOperations(at second: Int) async throws {
        let index = self.devices.firstIndex { !$0.hadTrouble } ?? self.devices.firstIndex { !$0.isRemoved }
        guard let index else { return }
        for kind in [Kind.login, .quickLogin] { try await self.make(kind, ofDevice: index, at: second) }
    }

    /// Returns the status of each operation.
    func statuses() async throws -> [String: String] {
        let all = await self.emulator.operations()
        return Dictionary(all.map { ($0.id, $0.status.rawValue) }, uniquingKeysWith: { first, _ in first })
    }

    private mutating func happens(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self.generator) < probability
    }

    private mutating func endWait(of index: Int, at second: Int) async throws {
        guard let wait = self.devices[index].wait, wait.until <= second else { return }
        self.devices[index].wait = nil
        guard !self.devices[index].isRemoved else { return }
        if wait.isCommit {
            try await self.emulator.cloud.commitRegistration(self.devices[index].registrationID)
        } else {
            try await self.emulator.unblockActivation(self.devices[index].activationID)
        }
    }

    private mutating func makeOperation(at second: Int) async throws {
        guard let index = self.devices.indices.randomElement(using: &self.generator), !self.devices[index].isRemoved,
            let kind = Kind.allCases.randomElement(using: &self.generator)
        else { return }
        try await self.make(kind, ofDevice: index, at: second)
    }

    private mutating func make(_ kind: Kind, ofDevice index: Int, at second: Int) async throws {
        let made = try await self.emulator.cloud.createOperation(
            kind.template,
            userID: self.devices[index].user,
            parameters: kind.parameters
        )
        self.operations[made.id] = Operation(kind: kind, device: index, made: second)
    }

    /// Cancels one that has probably been seen by then, if its device could see it, and that is still open: the first one is
    /// left to people, so that chance keeps no day from having any.
    private mutating func cancelOperation(at second: Int) async throws {
        let seen = self.operations.filter { _, operation in
            operation.made + 90 < second
                && (self.hasCanceled || operation.kind.decided == nil && second < operation.made + 240)
        }
        guard let id = seen.keys.sorted().randomElement(using: &self.generator),
            try await self.emulator.cloud.operation(id).status == .pending
        else { return }
        // It may be decided in this very moment.
        guard (try? await self.emulator.cloud.cancelOperation(id)) != nil else { return }
        self.hasCanceled = true
    }

    private mutating func block(at second: Int) async throws {
        guard let index = self.devices.indices.randomElement(using: &self.generator), self.devices[index].wait == nil,
            !self.devices[index].isRemoved
        else { return }
        try await self.emulator.blockActivation(self.devices[index].activationID)
        self.devices[index].wait = (false, second + Int.random(in: 10..<200, using: &self.generator))
        self.devices[index].hadTrouble = true
    }

    /// One of five devices at most.
    private mutating func remove() async throws {
        guard self.devices.count(where: \.isRemoved) * 5 < self.devices.count,
            let index = self.devices.indices.randomElement(using: &self.generator), !self.devices[index].isRemoved
        else { return }
        try await self.emulator.removeActivation(self.devices[index].activationID)
        self.devices[index].isRemoved = true
        self.devices[index].hadTrouble = true
    }
}

extension TroubledBank.Operation {
    /// Returns the reason why an operation ended wrongly; `nil` when it was decided as the policy says, or left for a reason.
    ///
    /// - Parameter story: The lines that agents told of the operation.
    func problem(_ status: String, _ story: [String], _ device: TroubledBank.Device) -> String? {
        if ["APPROVED", "REJECTED"].contains(status) {
            return status == self.kind.decided ? nil : "the policy says otherwise"
        }
        guard !device.hadTrouble else { return nil }  // it could not decide, and its state said so
        if self.kind.decided == nil {
            return story.contains { $0.hasPrefix("left") || $0.hasSuffix("leave") } ? nil : "it was not left"
        }
        let reasons = ["retrying", "unanswered", "unknown", "finished elsewhere", "gone"]
        let isExplained = story.contains { line in reasons.contains { line.hasPrefix($0) } }
        return status != "PENDING" && isExplained || story.contains("unknown") ? nil : "nobody says why"
    }
}
