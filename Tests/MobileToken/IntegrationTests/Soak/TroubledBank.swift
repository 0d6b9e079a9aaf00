import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting

/// A bank on a bad day: it makes operations, and answers badly.
struct TroubledBank {
    /// The length and the hardships of the day.
    struct Plan {
        var deviceCount = 100
        var duration = 3_600
        var pollInterval = Duration.seconds(5)
        var operationsPerSecond = 0.9
    }

    /// The kind of an operation, and the policy's verdict on it.
    enum Kind: CaseIterable {
        case login, smallPayment
        case quickLogin
        /// More than the policy allows.
        case largePayment

        /// The state that a decision leads to; `nil` for what is left to people.
        var decided: String? {
            switch self {
            case .login, .smallPayment: "APPROVED"
            case .quickLogin: "REJECTED"
            case .largePayment: nil
            }
        }

        fileprivate var template: String {
            switch self {
            case .login: "login"
            case .quickLogin: "login_1FA"
            case .smallPayment, .largePayment: "payment"
            }
        }

        fileprivate var parameters: [String: JSONValue] {
            switch self {
            case .smallPayment: ["amount": "49.90"]
            case .largePayment: ["amount": "50.01"]
            case .login, .quickLogin: [:]
            }
        }
    }

    let emulator: Emulator
    let plan: Plan
    private var generator: SeededGenerator
    private var users: [String] = []
    private(set) var operations: [String: Kind] = [:]

    init(_ emulator: Emulator, _ plan: Plan, _ generator: SeededGenerator) {
        (self.emulator, self.plan) = (emulator, plan)
        self.generator = generator
    }

    static let policy: ApprovalAgent.Policy = { review in
        switch review.operation.name {
        case "login": return .approve
        case "login_1FA": return .reject(.unexpectedOperation)
        default:
            guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .deferToPeople }
            return .approve
        }
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

    /// Activates one more device.
    mutating func register(with client: MobileTokenClient) async throws {
        let user = "user \(self.users.count)"
        _ = try await self.emulator.makeActivation(user: user, password: password, client: client)
        self.users.append(user)
    }

    mutating func liveASecond() async throws {
        guard Double.random(in: 0..<1, using: &self.generator) < self.plan.operationsPerSecond,
            let kind = Kind.allCases.randomElement(using: &self.generator)
        else { return }
        try await self.make(kind)
    }

    mutating func make(_ kind: Kind) async throws {
        guard let user = self.users.randomElement(using: &self.generator) else { return }
        let made = try await self.emulator.cloud.createOperation(
            kind.template,
            userID: user,
            parameters: kind.parameters
        )
        self.operations[made.id] = kind
    }

    /// Returns the status of each operation.
    func statuses() async throws -> [String: String] {
        let all = await self.emulator.operations()
        return Dictionary(all.map { ($0.id, $0.status.rawValue) }, uniquingKeysWith: { first, _ in first })
    }
}
