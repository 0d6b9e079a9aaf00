import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenNotifications
import PowerAuthProtocol
import Synchronization

/// The profile's client and the output, used by every command that contacts a server.
struct Session: Sendable {
    let folder: ProfileFolder
    let client: MobileTokenClient
    let output: Output
    private let store: ActivationStore
    private let language: MobileTokenClient.AcceptLanguage
    /// The request timeout.
    let limit: Duration
    /// The settings as changed by the options.
    private let profile: Profile
    /// The saved settings, if any.
    private let stored: Profile?

    /// The options for the server, the profile and the connection.
    static let options = [
        Command.Option("url", "URL", "the server, such as https://host/enrollment-server"),
        Command.Option("powerauth-url", "URL", "where /pa is found, if not below --url; the profile keeps it"),
        Command.Option("sdk-configuration", "TEXT", "the configuration string from the server's administrator"),
        .profile,
        .home,
        .sealingKey("sealing-key", default: "beside the store", note: "; the profile keeps it"),
        .language,
        .timeout,
        .proxy,
        Command.Option("insecure", nil, "accept any TLS certificate; for development only"),
        .insecureHTTP,
        .caFile,
        .pin,
    ]

    /// Opens the profile named by the options.
    ///
    /// Server, configuration and trust come from the options, else from the profile.
    ///
    /// - Parameters:
    ///   - version: The protocol version of a new activation.
    ///   - suite: The algorithms for a new activation of version 4, and for an upgrade.
    ///   - offlineCodeDigits: The digits in each group of an offline code.
    init(
        _ invocation: Invocation,
        version: ProtocolVersion = .v3_3,
        suite: AlgorithmSuite? = nil,
        offlineCodeDigits: Int? = nil
    ) throws {
        let folder = try ProfileHome(invocation).profile(invocation)
        let stored = try folder.load()
        let (url, powerAuthURL) = try Self.addresses(invocation, stored)
        guard
            let sdkConfiguration = invocation["sdk-configuration"] ?? stored?.sdkConfiguration
                ?? Self.environment("SDK_CONFIGURATION")
        else {
            throw invocation.misuse("--sdk-configuration is missing, and there is no such profile yet")
        }
        var trust = stored?.trust ?? Profile.Trust()
        if stored == nil {
            trust.caFile = Self.environment("CA_FILE").map { URL(filePath: $0).absoluteURL.path }
            trust.pin = Self.environment("PIN")
        }
        if let file = invocation["ca-file"] { trust.caFile = URL(filePath: file).absoluteURL.path }
        if let pin = invocation["pin"] { trust.pin = pin }
        if invocation.has("insecure-http") { trust.allowsInsecureHTTP = true }
        let sealingKey =
            try invocation.sealingKey("sealing-key") ?? stored?.sealingKey.map { try SealingKeySource($0) }
            ?? (stored == nil ? Self.environment("SEALING_KEY_SOURCE").map { try SealingKeySource($0) } : nil)
        let proxy =
            try invocation["proxy"].map { try ProxyChoice($0, command: invocation.command) } ?? stored?.proxy
            ?? (stored == nil ? Self.environment("PROXY").map { try ProxyChoice($0) } : nil)
        if trust.allowsInsecureHTTP != true { try proxy?.requireTLS(url, powerAuthURL ?? url) }
        var profile = Profile(url: url, sdkConfiguration: sdkConfiguration)
        (profile.powerAuthURL, profile.proxy, profile.trust) = (powerAuthURL, proxy, trust)
        (profile.activationID, profile.sealingKey) = (stored?.activationID, sealingKey?.description)
        profile.activationsBefore = stored?.activationsBefore
        (self.profile, self.stored) = (profile, stored)
        self.limit = try invocation.seconds("timeout") ?? .seconds(20)
        try folder.create()
        self.store = ActivationStore.sqlite(path: folder.database, sealingKey: sealingKey)
        self.client = try profile.client(
            of: self.store,
            transport: Self.transport(invocation, profile, self.limit)
        ) { configuration in
            configuration.version = version
            configuration.observer = WaitNote(isJSON: invocation.has("json"))
            if let suite { configuration.suite = suite }
            if let offlineCodeDigits { configuration.offlineCodeDigits = offlineCodeDigits }
        }
        self.language = try invocation["language"].map { try MobileTokenClient.AcceptLanguage($0) } ?? .english
        self.folder = folder
        self.output = Output(isJSON: invocation.has("json"))
    }

    /// The environment variables of the program.
    static let environment = [
        ("MOBILE_TOKEN_URL", "the server of a new profile, as --url"),
        ("MOBILE_TOKEN_POWERAUTH_URL", "where /pa is found at the server of MOBILE_TOKEN_URL, as --powerauth-url"),
        ("MOBILE_TOKEN_SDK_CONFIGURATION", "the configuration string of a new profile, as --sdk-configuration"),
        ("MOBILE_TOKEN_CA_FILE", "the certificate authority of a new profile, as --ca-file"),
        ("MOBILE_TOKEN_PIN", "the public key of a new profile's server, as --pin"),
        ("MOBILE_TOKEN_PROXY", "the proxy of a new profile, as --proxy"),
        ("MOBILE_TOKEN_PROFILE", "the profile to use, as --profile"),
        ("MOBILE_TOKEN_HOME", "the folder of the profiles, as --home"),
        ("MOBILE_TOKEN_SEALING_KEY_SOURCE", "where the sealing key of a new profile is, as --sealing-key"),
        ("MOBILE_TOKEN_PASSWORD_FILE", "the file of the password, as --password-file"),
    ]

    /// Returns a nonempty environment variable.
    static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["MOBILE_TOKEN_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns both addresses of the server from one source, so that different servers are never combined.
    private static func addresses(
        _ invocation: Invocation,
        _ stored: Profile?
    ) throws -> (url: String, powerAuthURL: String?) {
        let powerAuthURL = invocation["powerauth-url"]
        if let url = invocation["url"] { return (url, powerAuthURL) }
        if let stored { return (stored.url, powerAuthURL ?? stored.powerAuthURL) }
        if let url = Self.environment("URL") { return (url, powerAuthURL ?? Self.environment("POWERAUTH_URL")) }
        throw invocation.misuse("--url is missing, and there is no such profile yet")
    }

    private static func transport(
        _ invocation: Invocation,
        _ profile: Profile,
        _ limit: Duration
    ) throws -> CurlTransport.Configuration {
        var configuration = profile.transport
        configuration.timeout = limit
        if invocation.has("insecure") {
            guard invocation["ca-file"] == nil else {
                throw invocation.misuse("--insecure and --ca-file exclude each other")
            }
            configuration.tls.validation = .noValidation
        }
        return configuration
    }

    func activation() async throws -> Activation {
        guard let id = try await self.activationID() else {
            throw MobileTokenError(.unknownActivation, "this profile has no activation; see 'mobile-token activate'")
        }
        return try await self.client.activation(id: id)
    }

    /// Returns the identifier of the profile's activation. One that a killed program has left in the store is adopted first.
    func activationID() async throws -> String? {
        guard let before = self.profile.activationsBefore, let id = try await self.newActivation(since: before) else {
            return self.profile.activationID
        }
        try self.remember(id)
        Output.note("mobile-token: took up activation \(TextTable.printable(id)), which a killed program had made")
        return id
    }

    private func newActivation(since before: [String]) async throws -> String? {
        try await self.store.activationIDs().last { !before.contains($0) }
    }

    /// Activates, and saves the activation in the profile even if the program is interrupted: once the server has consumed the
    /// code, the program stores the activation before it ends. If it is killed, the next call finds the activation; see
    /// ``activationID()``.
    func activate(_ body: (MobileTokenClient) async throws -> Activation) async throws -> Activation {
        let before = try await self.store.activationIDs()
        var begun = self.profile
        begun.activationsBefore = before
        try self.folder.save(begun)
        TerminationSignals.mustFinish.store(true, ordering: .releasing)
        defer { TerminationSignals.mustFinish.store(false, ordering: .releasing) }
        let activation: Activation
        do {
            activation = try await body(self.client)
        } catch {
            if error is CancellationError { await self.client.shutdown() }
            if let id = try await self.newActivation(since: before) {
                try self.remember(id)
                Output.note("mobile-token: \(Self.note(of: id, after: error))")
            } else {
                try? self.folder.restore(self.stored)  // if it cannot, the next call finds nothing new in the store
            }
            throw error
        }
        try self.remember(activation.activationID)
        return activation
    }

    private static func note(of id: String, after error: any Error) -> String {
        switch error {
        case is CancellationError: "activated \(id) before the program was interrupted"
        case let error as MobileTokenError where error.code == .activationNotConfirmed:
            "use 'mobile-token confirm' to complete the activation"
        default: "activated \(id) all the same"
        }
    }

    private func remember(_ activationID: String?) throws {
        var profile = self.profile
        (profile.activationID, profile.activationsBefore) = (activationID, nil)
        try self.folder.save(profile)
    }

    /// Removes the activation from the profile, and keeps the server.
    func forgetActivation() throws { try self.remember(nil) }
}

extension MobileTokenError {
    /// Indicates whether the server has the operation, but no template to show it. The list omits it.
    fileprivate var lacksTexts: Bool { self.code == .invalidRequest && self.message.contains("Template not found") }

    /// Indicates whether the server itself reports a missing object: some servers call a request for another user's object
    /// invalid.
    fileprivate var saysNotFound: Bool {
        self.isServersRefusal && [.invalidRequest, .invalidOperation, .inboxFailed].contains(self.code)
    }
}

extension Session {
    func operations() async throws -> OperationsService {
        var configuration = OperationsService.Configuration()
        configuration.acceptLanguage = self.language
        return OperationsService(activation: try await self.activation(), configuration: configuration)
    }

    /// Returns an operation by its identifier, or by a prefix of a listed one.
    ///
    /// - Throws: ``NotFound`` if the server has none, `UsageError` if the name is ambiguous.
    func operation(_ id: String, from service: OperationsService) async throws -> UserOperation {
        let whole = try await self.wholeID(id, from: service)
        return try await self.finding("operation \(id)") { try await service.detail(id: whole) }
    }

    /// Returns the identifier of the named operation.
    func wholeID(_ name: String, from service: OperationsService) async throws -> String {
        let name = try OperationName(name)
        if name.isWhole { return name.string }
        let list = try await service.fetchList()
        return try name.resolved(among: list.operations.map(\.id) + list.unreadable.compactMap(\.id))
    }

    /// Prints a list, and its missing parts on standard error.
    func show(_ list: OperationList) {
        self.output.result(.array(list.operations.map(\.document)), text: list.table)
        for line in list.notRead { Output.note("mobile-token: \(line)") }
        self.output.note(list.limit)
    }

    /// Runs `body`; throws ``NotFound`` if the server reports a missing object.
    func finding<Found>(_ what: String, _ body: () async throws -> Found) async throws -> Found {
        do {
            return try await body()
        } catch let error as MobileTokenError where error.lacksTexts {
            throw MobileTokenError(
                error.code,
                "The bank's server has no texts for the operation (\"\(error.message)\"), so nobody can be shown what it is. Its type needs a "
                    + "row in the table es_operation_template of the enrollment server, in this language or in English",
                httpStatus: error.httpStatus,
                serverCode: error.serverCode
            )
        } catch let error as MobileTokenError where error.saysNotFound {
            throw NotFound(what: what)
        }
    }

    func inbox() async throws -> InboxService {
        InboxService(activation: try await self.activation(), acceptLanguage: self.language)
    }

    func push() async throws -> PushService { PushService(activation: try await self.activation()) }
}
