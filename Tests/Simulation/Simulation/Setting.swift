import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import PowerAuth
import Synchronization

/// The start of all worlds, for each release of the bank's server.
struct Settings: Sendable {
    private let newest: Setting
    private let recorded: Setting

    static func make() async throws -> Settings {
        Settings(newest: try await Setting.make(.v2_2), recorded: try await Setting.make(.v1_9))
    }

    /// - Parameter release: `nil` for the newest.
    subscript(release: EmulatorServerProfile.Release?) -> Setting {
        release == .v1_9 ? self.recorded : self.newest
    }
}

/// The start of a world: a bank with activated devices. Made once, because it includes most of the cryptography.
struct Setting: Sendable {
    struct Device: Sendable {
        let activationID: String
        let user: String
        let factor: Activation.Authentication.UnlockedFactor
    }

    static let baseURL = "https://bank.example"
    static let deviceCount = 4
    static let applicationID = "simulation"
    static let password = "correct horse"

    let backend: Backend
    let sdkConfiguration: String
    let devices: [Device]
    let rows: [LoadedRow]
    let keys: [StoreFacts.Key]
    let sealingKey: SecretBytes

    static func make(_ release: EmulatorServerProfile.Release) async throws -> Setting {
        let bank = try SettingBank(release)
        let driver = MemoryDriver()
        let sealingKey = SecretBytes(copying: [UInt8](repeating: 7, count: 32))
        let store = ActivationStore.inMemory(driver, sealingKey: sealingKey)
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.transport = bank
        configuration.wallClock = { SettingBank.date }
        let sdkConfiguration = bank.backend.withLock { $0.defaultApplication.sdkConfiguration }
        let client = try MobileTokenClient(
            baseURL: Self.baseURL,
            sdkConfiguration: sdkConfiguration,
            configuration: configuration
        )
        var devices: [Device] = []
        for number in 0..<Self.deviceCount {
            let user = "user \(number)"
            let registration = try bank.cloud("POST", "/v2/registrations", ["userId": .string(user)])
            let id = registration["registrationId"]?.string ?? ""
            let code = registration["activationQrCodeData"]?.string ?? ""
            let activation = try await client.activate(code: code, password: Self.password)
            try bank.cloud("POST", "/v2/registrations/\(id)/commit", [:])
            let factor = try await activation.unlockKnowledge(password: Self.password)
            devices.append(Device(activationID: activation.activationID, user: user, factor: factor))
        }
        var rows: [LoadedRow] = []
        for device in devices { if let row = try await driver.load(device.activationID) { rows.append(row) } }
        return Setting(
            backend: bank.backend.withLock { $0 },
            sdkConfiguration: sdkConfiguration,
            devices: devices,
            rows: rows,
            keys: try await driver.open().keys,
            sealingKey: sealingKey
        )
    }
}

/// The transport to the bank during the activation, without failures.
private final class SettingBank: HTTPTransport {
    static let date = Date(timeIntervalSince1970: Double(Simulator.start / 1_000_000_000))

    let backend: Mutex<Backend>

    init(_ release: EmulatorServerProfile.Release) throws {
        var configuration = BackendConfiguration(
            applicationID: Setting.applicationID,
            applicationName: "Simulation",
            cloudCredentials: nil
        )
        configuration.profile = EmulatorServerProfile(release)
        configuration.templates = [
            """
            {"name": "deploy", "data": "A9*R${binding}", "formData": {"title": "Deploy", "message": "${fingerprint}"},
             "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]}}
            """,
            """
            {"name": "strange", "operationType": "trap", "data": "A1*A20CZK*ICZ5508000000001234567899",
             "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
             "formData": {"title": "Payment", "message": "Payment",
              "attributes": [{"type": "HOLOGRAM", "id": "picture", "label": "Look"},
               {"type": "AMOUNT", "id": "amount", "label": "Amount", "amount": 20, "currency": "CZK"}]}}
            """,
            """
            {"name": "pair", "operationType": "pair", "data": "A1*A20CZK*A25CZK*ICZ5508000000001234567899",
             "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
             "formData": {"title": "Payment", "message": "Payment",
              "attributes": [{"type": "AMOUNT", "id": "first", "label": "Amount", "amount": 20, "currency": "CZK"},
               {"type": "AMOUNT", "id": "second", "label": "Amount", "amount": 25, "currency": "CZK"},
               {"type": "KEY_VALUE", "id": "account", "label": "Account", "value": "CZ5508000000001234567899"}]}}
            """,
            """
            {"name": "brief", "data": "A1*A70CZK*ICZ5508000000001234567899", "expiresIn": 30,
             "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
             "formData": {"title": "Payment", "message": "Payment"}}
            """,
        ]
        self.backend = Mutex(try Backend(configuration: configuration, randomness: SeededRandomness(seed: 1)))
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(self.backend.withLock { $0.reply(to: ReceivedRequest(request), at: Self.date) })
    }

    @discardableResult
    func cloud(_ method: String, _ path: String, _ body: JSONValue) throws -> JSONValue {
        var request = ReceivedRequest(method: method, path: path, headers: [("Content-Type", "application/json")])
        request.body = body.serialized()
        let reply = self.backend.withLock { [request] in $0.reply(to: request, from: .process, at: Self.date) }
        return try JSONValue(parsing: reply.body)
    }
}

extension ReceivedRequest {
    init(_ request: HTTPRequest) {
        self.init(method: request.method.rawValue, target: request.url)
        self.headers = request.headers.fields.map { ($0.name, $0.value) }
        self.body = request.body ?? []
    }
}

extension HTTPResponse {
    init(_ reply: Reply) {
        let headers = reply.headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) }
        self.init(status: reply.status, headers: HTTPHeaders(headers), body: reply.body)
    }
}
