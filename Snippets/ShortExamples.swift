// The shorter examples of several pages, each in a function that gives it what it needs.
import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenReceipts
import MobileTokenReconciliation
import PowerAuth

// snippet.hide
func store(url: String, text: String) throws {
    // snippet.show
    var configuration = MobileTokenClient.Configuration()
    configuration.store = .sqlite(path: "/var/lib/bot/activations.sqlite", sealingKey: .environment("SEALING_KEY"))
    let client = try MobileTokenClient(baseURL: url, sdkConfiguration: text, configuration: configuration)
    // snippet.hide
    _ = client
}

func manyActivations(client: MobileTokenClient) async throws {
    // snippet.show
    let fleet = client.makeFleet()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await fleet.run() }
        group.addTask {
            for await news in fleet.changes() {
                for operation in news.change.added { print(news.activationID, operation.name) }
            }
        }
        try await group.next()
        group.cancelAll()
    }
    // snippet.hide
}

func policy(review: OperationReview, isShopOpen: Bool) -> ApprovalAgent.Verdict {
    // snippet.show
    switch review.operation.name {
    case "authorize_payment":
        guard let total = review.total(in: "CZK"), total > 0 else { return .deferToPeople(reason: "no total") }
        guard total <= 50 else { return .deferToPeople(reason: "over the limit") }
        guard review.pays(onlyTo: ["CZ55 0800 0000 0012 3456 7899"]) else {
            return .deferToPeople(reason: "another account")
        }
        return isShopOpen ? .approve : .askAgain(after: .seconds(600))
    case "login":
        guard let country = review.operation.formData.text(of: "login.country") else {
            return .deferToPeople(reason: "no country")
        }
        return country == "CZ" ? .approve : .reject(.unexpectedOperation)
    default:
        return .deferToPeople(reason: "another template")
    }
    // snippet.hide
}

func limits(prague: TimeZone, userOfActivation: [String: String]) -> ApprovalAgent.Configuration {
    var configuration = ApprovalAgent.Configuration()
    // snippet.show
    configuration.limits = [
        .init("payments a day", of: .activation, within: .rolling(.hours(24)), count: 10),
        .init("sum a day", of: .user, within: .day(in: prague), sum: ["CZK": 500, "EUR": 20]),
        .init("per payee", of: .payee, within: .rolling(.hours(24)), sum: ["CZK": 100]),
        .init("fleet, an hour", of: .fleet, within: .rolling(.hours(1)), count: 1_000),
    ]
    configuration.userID = { userOfActivation[$0] }
    // snippet.hide
    return configuration
}

func pausing(client: MobileTokenClient) async throws {
    // snippet.show
    try await client.pauseDeciding(reason: "payments to CZ65 0800 look wrong")
    // snippet.hide
}

func receipts(client: MobileTokenClient) async throws {
    // snippet.show
    for try await receipt in client.receipts() {
        print(receipt.number, receipt.intent.verdict, receipt.outcome?.result ?? "open")
    }
    // snippet.hide

    // snippet.show
    let archive = ReceiptArchive(folder: "/var/lib/approval-bot/receipts")
    try await archive.export(from: client)
    let verification = try await archive.verify()
    if let fault = verification.fault { print(fault) }  // the first line that was changed, moved, left out or added
    // snippet.hide

    // snippet.show
    let old = ReceiptSelection.decided(before: Date() - 400 * 86_400)
    try await client.eraseReceipts(old)
    try await archive.erase(old)
    // snippet.hide
}

func reconciling(operations: OperationsService, password: String) async throws {
    // snippet.show
    let reconciliation = try await operations.reconcileReceipts(with: .possessionAndKnowledge(password: password))
    for difference in reconciliation.differences { print(difference) }
    // snippet.hide
}

func newActivations() {
    // snippet.show
    var configuration = MobileTokenClient.Configuration()
    configuration.version = .v4_0
    configuration.suite = .p384MLLevel3  // or .p384, which OpenSSL 3.0 has
    // snippet.hide
    print(configuration.version)
}

func activationsThatExist(activation: Activation, password: SecretBytes) async throws {
    // snippet.show
    if try await activation.status().isUpgradeOffered {
        try await activation.upgrade(password: password)
    }
    // snippet.hide
}

func emulator() async throws {
    // snippet.show
    let emulator = try await Emulator.start()
    let registration = try await emulator.cloud.register(userID: "alice")
    // … a client activates at `emulator.baseURL` with `registration.activationQRCode` …
    try await emulator.cloud.commitRegistration(registration.id)
    try await emulator.cloud.createOperation("payment", userID: "alice")
    // … and decides …
    await emulator.stop()
    // snippet.hide
}

func protocolRules(emulator: Emulator) async throws {
    // snippet.show
    var rules = await emulator.protocolRules()
    rules.upgradeOffers = [emulator.applicationID]  // activations of version 3 may become ones of version 4
    rules.minimumVersion = 4  // and can do nothing else any more
    try await emulator.setProtocolRules(rules)
    // snippet.hide
}

func olderServer() -> Emulator.Configuration {
    // snippet.show
    var configuration = Emulator.Configuration()
    configuration.profile = EmulatorServerProfile(.v1_10)
    // snippet.hide
    return configuration
}

func refusals(emulator: Emulator) async {
    // snippet.show
    let refused = await emulator.journal().last { $0.code?.isRight == false }
    for component in refused?.code?.components ?? [] where !component.matches { print(component.factor) }
    // snippet.hide
}

func spaces(emulator: Emulator) async throws {
    // snippet.show
    let space = try await emulator.makeSpace(named: "a test", seed: 7)
    await space.clock.freeze()
    try await space.cloud.createOperation("login", userID: "alice")
    await space.stop()
    // snippet.hide
}

func copies(emulator: Emulator, scenario: Data) async throws {
    // snippet.show
    let prepared = try await emulator.makeSpace(named: "prepared", from: .scenario(scenario))
    let test = try await emulator.makeSpace(named: "a test", from: .copy(of: prepared))
    // snippet.hide
    _ = test
}

func devices(emulator: Emulator) async throws {
    // snippet.show
    let device = try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 3))
    let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
    try await emulator.settle()  // the device was shown the operation: its three seconds begin
    await emulator.clock.advance(by: .seconds(3))
    let decided = try await emulator.operation(operation.id, until: .final, within: .seconds(5))
    print(device.name, decided.status)  // APPROVED
    // snippet.hide
}
