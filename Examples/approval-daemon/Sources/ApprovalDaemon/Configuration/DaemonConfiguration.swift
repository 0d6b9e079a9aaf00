import ExactJSON
import Foundation
import MobileToken

/// The daemon's configuration, from its file and its environment.
public struct DaemonConfiguration: Sendable {
    /// The bank.
    struct Server: Sendable {
        var baseURL: String
        var sdkConfiguration: String
        var powerAuthURL: String?
        var certificateAuthorityFile: String?
        var publicKeyPins: [String]
    }

    /// The place of the activations.
    struct Store: Sendable {
        var path: String
        /// The place of the key that seals it; `nil` if the key lies beside it.
        var sealingKey: SealingKeyPlace?
    }

    /// The rate and the limits of requests to the bank.
    struct Polling: Sendable {
        var interval: Duration
        var limits: OperationsFleet.ServerLimits
    }

    /// The health endpoint.
    struct Status: Sendable {
        var host: String
        var port: UInt16
        /// The longest acceptable time since the last poll of an active activation.
        var maximumPollAge: Duration
    }

    /// The folder that receipts are exported to, and the interval; nothing is exported without a folder.
    struct Receipts: Sendable {
        var folder: String?
        var interval: Duration
    }

    var server: Server
    var store: Store
    var passwordFile: String
    var polling: Polling
    var policy: PaymentPolicy
    var status: Status
    var receipts: Receipts
    var gracePeriod: Duration
    var logLevel: LogLevel

    /// `true` if the policy has no rule, so that nothing would be approved.
    public var approvesNothing: Bool { self.policy.rules.isEmpty }
    /// The address of the health endpoint.
    public var statusURL: String { StatusServer.url(host: self.status.host, port: self.status.port) }
}

extension DaemonConfiguration {
    /// Reads a file, and lets the environment have the last word.
    ///
    /// - Throws: ``ConfigurationError``.
    public init(file path: String, environment: [String: String]) throws {
        let json: JSONValue
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            json = try JSONValue(parsing: Array(data), limits: JSONLimits(maximumByteCount: 1 << 20, maximumDepth: 16))
        } catch let error as JSONError {
            throw ConfigurationError(path, "is not JSON: \(error)")
        } catch {
            throw ConfigurationError(path, "cannot be read")
        }
        try self.init(json: json, environment: environment)
    }

    init(json: JSONValue, environment: [String: String]) throws {
        let environment = try EnvironmentSettings(environment)
        self = try SettingsReader.read(try environment.overriding(json), EnvironmentSettings.members()) { settings in
            try Self(settings, environment.credentialsFolder)
        }
    }

    private init(_ settings: SettingsReader, _ credentialsFolder: String?) throws {
        self.server = try settings.section("server") { try Server($0) }
        self.store = try settings.section("store") { settings in
            Store(
                path: try settings.string("path") ?? ActivationStore.defaultPath,
                sealingKey: try settings.sealingKey("sealingKey")
            )
        }
        let credential = credentialsFolder.map { $0 + "/" + PasswordFile.credentialName }
        guard let passwordFile = try settings.string("passwordFile") ?? credential else {
            throw settings.error("passwordFile", "is missing, and there is no credentials directory")
        }
        self.passwordFile = passwordFile
        self.polling = try settings.section("polling") { try Polling($0) }
        self.policy = try settings.section("policy") { try PaymentPolicy($0) }
        self.status = try settings.section("status") { settings in
            Status(
                host: try settings.string("host") ?? "127.0.0.1",
                port: UInt16(clamping: try settings.integer("port", in: 0...65_535) ?? 9464),
                maximumPollAge: try settings.seconds("maximumPollAgeSeconds", in: 10...86_400) ?? .seconds(60)
            )
        }
        self.receipts = try settings.section("receipts") { settings in
            Receipts(
                folder: try settings.string("folder"),
                interval: try settings.seconds("exportIntervalSeconds", in: 1...86_400) ?? .seconds(3600)
            )
        }
        self.gracePeriod = try settings.seconds("gracePeriodSeconds", in: 1...3600) ?? .seconds(25)
        let level = try settings.string("logLevel") ?? LogLevel.info.rawValue
        guard let logLevel = LogLevel(rawValue: level) else {
            let choices = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            throw settings.error("logLevel", "is none of: \(choices)")
        }
        self.logLevel = logLevel
    }
}

extension DaemonConfiguration.Server {
    fileprivate init(_ settings: SettingsReader) throws {
        self.init(
            baseURL: try settings.requiredString("baseURL"),
            sdkConfiguration: try settings.requiredString("sdkConfiguration"),
            powerAuthURL: try settings.string("powerAuthURL"),
            certificateAuthorityFile: try settings.string("certificateAuthorityFile"),
            publicKeyPins: try settings.strings("publicKeyPins") ?? []
        )
    }
}

extension DaemonConfiguration.Polling {
    fileprivate init(_ settings: SettingsReader) throws {
        self.interval = try settings.seconds("intervalSeconds", in: 5...86_400) ?? .seconds(7)
        self.limits = OperationsFleet.ServerLimits()
        if let limit = try settings.integer("requestsPerSecond", in: 1...100_000) {
            self.limits.requestsPerSecond = Double(limit)
        }
        if let limit = try settings.integer("concurrentRequests", in: 1...10_000) {
            self.limits.concurrentRequests = Int(limit)
        }
    }
}

extension DaemonConfiguration.Store {
    /// Returns the refusal of the setting that keeps the store closed; `nil` for an error that a restart may mend, such as one of
    /// a program that had no key to give this time.
    func refusal(_ error: MobileTokenError) -> ConfigurationError? {
        let isProgram = if case .command? = self.sealingKey { true } else { false }
        let isRefused =
            error.code == .storeWrongSealingKey || error.code == .storeSealingKeyMissing && !isProgram
        return isRefused ? ConfigurationError("store.sealingKey", error.message) : nil
    }
}
