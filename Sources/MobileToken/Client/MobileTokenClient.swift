public import Foundation
public import PowerAuth
public import PowerAuthProtocol

/// One application at one server: makes activations, finds those that are stored, and hands out their services.
///
/// ```swift
/// let client = try MobileTokenClient(
///     baseURL: "https://powerauth.example.com/enrollment-server",
///     sdkConfiguration: "ARDDj6EB6…"
/// )
/// let activation = try await client.activate(code: "W65WE-3T7VI-7FBS2-A4OYA", name: "approval bot", password: "…")
/// let operations = client.operations(of: activation)
/// ```
///
/// One client serves a whole process. Nothing is opened or sent before a method needs it.
public final class MobileTokenClient: Sendable {
    /// What a client can be given besides the server and the application.
    public struct Configuration: Sendable {
        /// The version of the protocol that new activations speak: 3.3 by default.
        public var version = ProtocolVersion.v3_3
        /// The address below which `/pa/v3/…` is found, where it is not the base URL; none by default.
        public var powerAuthURL: String?
        /// What keeps the activations: by default an SQLite database at `SQLiteActivationStore.defaultPath`.
        public var store: (any ActivationStore)?
        /// What carries the requests: by default the client's own `CurlTransport`, which ``MobileTokenClient/shutdown()``
        /// ends. One that is given here stays its owner's to end.
        public var transport: (any HTTPTransport)?
        /// The longest a request may take: by default 20 s, which is the transport's.
        public var timeout: Duration?
        /// Whether plain `http` may lead to another machine: no by default. Anybody on the way can then read everything, tokens
        /// included, and change most of it. `http` to this machine (`localhost`, `127.0.0.0/8`, `[::1]`) needs no permission.
        public var allowsInsecureHTTP = false
        /// In which language the server presents operations and messages: English by default.
        public var acceptLanguage = AcceptLanguage.english
        /// What is sent as `User-Agent`: by default the SDK's name and version with the system's.
        public var userAgent: String?
        /// Who is told what the SDK does: nobody by default.
        public var observer: (any MobileTokenObserver)?

        /// Creates a configuration with the documented defaults.
        public init() {}
    }

    private let powerAuth: PowerAuthClient
    private let acceptLanguage: AcceptLanguage
    /// What the client made for itself, and ends with itself.
    private let ownTransport: CurlTransport?
    private let ownStore: SQLiteActivationStore?

    /// Creates a client from the configuration string that the server's administrator hands out.
    ///
    /// - Throws: `MobileTokenError` with the code `invalidConfiguration`, whose message names what is wrong.
    public convenience init(
        baseURL: String,
        sdkConfiguration: String,
        configuration: Configuration = Configuration()
    ) throws {
        let parsed: SDKConfiguration
        do {
            parsed = try SDKConfiguration(parsing: sdkConfiguration)
        } catch {
            throw MobileTokenError(.invalidConfiguration, "sdkConfiguration: \(error)", underlying: error)
        }
        try self.init(baseURL: baseURL, sdkConfiguration: parsed, configuration: configuration)
    }

    /// Creates a client from a configuration that was parsed before.
    ///
    /// - Throws: `MobileTokenError` with the code `invalidConfiguration`, whose message names what is wrong.
    public init(
        baseURL: String,
        sdkConfiguration: SDKConfiguration,
        configuration: Configuration = Configuration()
    ) throws {
        let ownTransport = configuration.transport == nil ? try Self.makeTransport() : nil
        let ownStore = configuration.store == nil ? SQLiteActivationStore() : nil
        guard let transport = configuration.transport ?? ownTransport, let store = configuration.store ?? ownStore
        else {
            throw MobileTokenError(.invalidConfiguration, "transport, store: none")
        }
        var powerAuth = try PowerAuthConfiguration(
            baseURL: baseURL,
            powerAuthURL: configuration.powerAuthURL,
            sdkConfiguration: sdkConfiguration,
            transport: transport,
            store: store,
            userAgent: configuration.userAgent,
            allowsInsecureHTTP: configuration.allowsInsecureHTTP
        )
        powerAuth.version = configuration.version
        powerAuth.timeout = configuration.timeout
        powerAuth.observer = configuration.observer
        self.powerAuth = PowerAuthClient(powerAuth)
        self.acceptLanguage = configuration.acceptLanguage
        self.ownTransport = ownTransport
        self.ownStore = ownStore
    }

    private static func makeTransport() throws(MobileTokenError) -> CurlTransport {
        do {
            return try CurlTransport()
        } catch {
            throw MobileTokenError(.invalidConfiguration, "transport: \(error)", underlying: error)
        }
    }

    // MARK: Life

    /// Opens the store, waits until the calling task is cancelled, and shuts the client down: the form that service runners
    /// ask for.
    ///
    /// Everything else works without it; then call ``shutdown()`` at the end.
    public func run() async throws {
        try await self.ownStore?.open()
        _ = await Signal().wait()
        await self.shutdown()
    }

    /// Waits for activations under way, ends every request with an error, closes connections and the store. A transport or
    /// store from the configuration is left to its owner.
    ///
    /// An activation that the server has made must get into the store, so one that is under way is waited for, even when the
    /// calling task is canceled: no longer than a request may take. New ones are refused.
    public func shutdown() async {
        await self.powerAuth.shutdown()
        await self.ownTransport?.shutdown()
        await self.ownStore?.close()
    }

    // MARK: Activations

    /// The server's time, as far as it is known.
    public var serverDate: Date { self.powerAuth.serverDate }

    /// Activates with a code, and stores the activation.
    ///
    /// - Parameters:
    ///   - code: As shown to the user or read from a QR code: `CODE` or `CODE#SIGNATURE`.
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - password: Protects the knowledge factor; at least 4 bytes. The server never sees it.
    ///   - otp: A one-time password that the server asks for besides the code.
    /// - Throws: `MobileTokenError`, such as `invalidActivationCode` or `activationFailed`. One of the `store…` codes before the
    ///   server is asked; `activationNotSaved` when the server has made an activation that could not be stored after all.
    public func activate(
        code: String,
        name: String? = nil,
        password: String,
        otp: String? = nil
    ) async throws -> Activation {
        try await self.powerAuth.activate(code: code, name: name, password: password, otp: otp)
    }

    /// Activates with a code, and with a password that never was a `String`.
    public func activate(
        code: String,
        name: String? = nil,
        password: SecretBytes,
        otp: String? = nil
    ) async throws -> Activation {
        try await self.powerAuth.activate(code: code, name: name, password: password, otp: otp)
    }

    /// Activates with any credentials, extras and custom attributes, and tells all that the server answered.
    ///
    /// - Parameters:
    ///   - request: The credentials, and what the server is told with them.
    ///   - password: Protects the knowledge factor: at least four bytes.
    ///   - biometryKey: Sets up the biometry factor too: 16 bytes from outside, such as a file, a KMS or an HSM.
    public func activate(
        _ request: ActivationRequest,
        password: SecretBytes,
        biometryKey: SecretBytes? = nil
    ) async throws -> ActivationResult {
        try await self.powerAuth.activate(request, password: password, biometryKey: biometryKey)
    }

    /// The activations in the store, oldest first.
    public func activations() async throws -> [Activation] {
        try await self.powerAuth.activations()
    }

    /// An activation in the store.
    ///
    /// - Throws: `unknownActivation` when the store holds none of this identifier.
    public func activation(id: String) async throws -> Activation {
        try await self.powerAuth.activation(id: id)
    }

    // MARK: Services

    /// A service for an activation's operations, in the client's language. Make one, and share it.
    public func operations(of activation: Activation) -> OperationsService {
        var configuration = OperationsService.Configuration()
        configuration.acceptLanguage = self.acceptLanguage
        return OperationsService(activation: activation, configuration: configuration)
    }

    /// The inbox of an activation, in the client's language.
    public func inbox(of activation: Activation) -> InboxService {
        InboxService(activation: activation, acceptLanguage: self.acceptLanguage)
    }

    /// A service to register an activation for push messages.
    public func push(for activation: Activation) -> PushService {
        PushService(activation: activation)
    }
}
