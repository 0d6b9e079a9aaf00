import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import PowerAuth
import PowerAuthCrypto
import Synchronization

/// A virtual device at work: the SDK with its own store.
///
/// The store advances the counter before a request is sent, so a copy of the devices is never behind the server.
actor DeviceSession {
    nonisolated let activationID: String
    nonisolated let model: DeviceKeys.Model

    private nonisolated let rows: MemoryDriver
    private nonisolated let memory: Mutex<Memory>
    private let site: DeviceSite
    private var opened: Opened?

    /// The part of the keys outside the store.
    private struct Memory {
        var unlocked: Activation.Authentication.UnlockedFactor?
        var isRegistered = false
    }

    private struct Opened {
        /// The client, which owns the activation's data about the server.
        let client: MobileTokenClient
        let activation: Activation
        let operations: OperationsService

        init(_ client: MobileTokenClient, _ activation: Activation) {
            (self.client, self.activation) = (client, activation)
            self.operations = client.makeOperationsService(for: activation)
        }
    }

    /// The passwords of all virtual devices, which protect nothing.
    private static let password = "virtual device"
    private static let wrongPassword = "mistyped"
    /// The minimum number of kept receipt entries; only the device itself reads them.
    static let receiptEntries = 16

    /// Resumes the work of an activated device. Opens nothing before it is needed.
    init(_ keys: DeviceKeys, at site: DeviceSite) {
        self.activationID = keys.activationID
        self.model = keys.model
        self.rows = MemoryDriver(keys.rows)
        self.memory = Mutex(Memory(unlocked: keys.unlocked, isRegistered: keys.isRegistered))
        self.site = site
    }

    private init(_ opened: Opened, _ model: DeviceKeys.Model, _ rows: MemoryDriver, at site: DeviceSite) {
        self.activationID = opened.activation.activationID
        self.model = model
        self.rows = rows
        self.memory = Mutex(Memory())
        self.site = site
        self.opened = opened
    }

    /// A snapshot of the device's stored data.
    nonisolated var keys: DeviceKeys {
        let (unlocked, isRegistered) = self.memory.withLock { ($0.unlocked, $0.isRegistered) }
        return DeviceKeys(
            activationID: self.activationID,
            model: self.model,
            rows: self.rows.snapshot,
            unlocked: unlocked,
            isRegistered: isRegistered
        )
    }

    nonisolated var tag: WriteTag? { self.rows.tag(of: self.activationID) }

    // MARK: Activation

    /// The method of activation.
    enum Way: Sendable {
        case code(String, otp: String? = nil)
        /// Through an OpenID provider: `signIn` replaces the browser and returns the callback address.
        case openID(provider: String, signIn: @Sendable (_ authorizeURL: String) async throws -> String)

        fileprivate func request(_ client: MobileTokenClient) async throws -> ActivationRequest {
            switch self {
            case .code(let code, let otp):
                var request = try ActivationRequest(code: code)
                request.otp = otp
                return request
            case .openID(let provider, let signIn):
                let authorization = try await client.oidc(providerID: provider)
                let callback = try await signIn(authorization.authorizeURL)
                return try ActivationRequest(oidc: authorization, callback: callback)
            }
        }
    }

    /// Activates a device.
    ///
    /// An activation with a lost confirmation is valid: the device confirms it at its next look for operations.
    static func activate(
        by way: Way,
        name: String,
        _ model: DeviceKeys.Model,
        at site: DeviceSite
    ) async throws(DeviceFailure) -> DeviceSession {
        try await DeviceFailure.reading {
            let rows = MemoryDriver(.init(entryLimit: Self.receiptEntries))
            let client = try Self.client(model, rows, at: site)
            var request = try await way.request(client)
            (request.name, request.deviceInfo) = (name, "virtual device")
            let activation: Activation
            do {
                let password = SecretBytes(utf8: Self.password)
                activation = try await client.activate(request, password: password).activation
            } catch let error as MobileTokenError where error.code == .activationNotConfirmed {
                guard let id = error.activationID else { throw error }
                activation = try await client.activation(id: id)
            }
            return DeviceSession(Opened(client, activation), model, rows, at: site)
        }
    }

    private static func client(
        _ model: DeviceKeys.Model,
        _ rows: MemoryDriver,
        at site: DeviceSite
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        (configuration.version, configuration.suite) = (model.version, model.suite)
        configuration.store = .inMemory(rows, sealingKey: model.sealingKey)
        configuration.transport = site.transport
        configuration.clock = site.clock
        // The transport is direct, so when it has ended no request is in flight. The clock may stand still.
        configuration.arrivalTimeout = .zero
        configuration.wallClock = site.clock.date
        return try MobileTokenClient(
            baseURL: DeviceTransport.baseURL,
            sdkConfiguration: model.application,
            configuration: configuration
        )
    }

    private func open() async throws -> Opened {
        if let opened { return opened }
        let client = try Self.client(self.model, self.rows, at: self.site)
        let opened = Opened(client, try await client.activation(id: self.activationID))
        self.opened = opened
        return opened
    }

    // MARK: Operations

    /// Returns the identifiers of the user's pending operations, newest first.
    func look() async throws(DeviceFailure) -> [String] { try await self.operations().map(\.id) }

    private func operations() async throws(DeviceFailure) -> [UserOperation] {
        try await self.asking { opened in
            if let push = self.model.push, !self.memory.withLock({ $0.isRegistered }) {
                let service = PushService(activation: opened.activation)
                try await service.register(token: "virtual-device-\(self.activationID)", for: push.platform)
                self.memory.withLock { $0.isRegistered = true }
            }
            return try await opened.operations.operations()
        }
    }

    /// Makes a request; before that, confirms an activation with a lost confirmation.
    private func asking<Value>(_ body: (Opened) async throws -> Value) async throws(DeviceFailure) -> Value {
        try await DeviceFailure.reading {
            let opened = try await self.open()
            do {
                return try await body(opened)
            } catch let error as MobileTokenError where error.code == .activationNotConfirmed {
                try await opened.activation.confirm(password: SecretBytes(utf8: Self.password))
                return try await body(opened)
            }
        }
    }

    /// Claims an operation created for no user.
    func claim(_ operationID: String) async throws(DeviceFailure) {
        try await self.asking { opened in _ = try await opened.operations.claim(id: operationID) }
    }

    /// Approves an operation without a network.
    ///
    /// - Parameter content: The content of its QR code.
    /// - Returns: The code that the user types in.
    func offlineCode(for content: String) async throws(DeviceFailure) -> String {
        let operation: OfflineOperation.Unverified
        do {
            operation = try OfflineOperation.Unverified(parsing: content)
        } catch {
            throw .refused(reason: "the QR code is none of an operation: \(error.words)")
        }
        // The first look signs for a token. It may happen at this moment, because the operation is new, and after the code it
        // would move the server's counter past it.
        _ = try? await self.operations()
        return try await self.asking { opened in
            try await opened.operations.authorize(offline: operation, with: self.password())
        }
    }

    // MARK: Inbox

    /// Returns the user's inbox, newest first.
    func inbox() async throws(DeviceFailure) -> Emulator.DeviceInbox {
        try await self.asking { opened in
            let inbox = InboxService(activation: opened.activation)
            let unread = try await inbox.unreadCount()
            let messages = try await inbox.list(page: 0).messages
            return Emulator.DeviceInbox(unread: unread, messages: messages.map(Emulator.DeviceMessage.init))
        }
    }

    /// Returns a message, and marks it as read.
    func readMessage(_ id: String) async throws(DeviceFailure) -> Emulator.DeviceMessage {
        try await self.asking { opened in
            let inbox = InboxService(activation: opened.activation)
            try await inbox.markRead(id: id)
            return Emulator.DeviceMessage(try await inbox.message(id: id))
        }
    }

    // MARK: Decisions

    func decide(_ task: DeviceRoster.Task) async throws(DeviceFailure) {
        guard var operation = try await self.operations().first(where: { $0.id == task.operationID }) else {
            throw .refused(reason: "the operation is none of those that wait for the device")
        }
        if let code = task.proximityCode {
            let now = self.site.clock.date()
            operation.proximityCheck = .init(totp: code, source: .qrCode, localDate: now)
        }
        try await DeviceFailure.reading { [operation] in
            let service = try await self.open().operations
            switch task.decision.base {
            case .never: return
            case .reject: try await service.reject(operation, reason: .init(rawValue: task.reason))
            case .approve: try await service.authorize(operation, with: self.factors(for: operation))
            case .wrongPassword:
                let mistyped = Activation.Authentication.possessionAndKnowledge(password: Self.wrongPassword)
                try await service.authorize(operation, with: mistyped)
            }
        }
    }

    /// Returns two factors, or possession if the server accepts nothing else.
    private func factors(for operation: UserOperation) async throws -> Activation.Authentication {
        let password = Activation.Authentication.possessionAndKnowledge(password: Self.password)
        if !operation.allows(password), operation.allows(.possession) { return .possession }
        return try await self.password()
    }

    private func password() async throws -> Activation.Authentication {
        if let factor = self.memory.withLock({ $0.unlocked }) { return .possessionAndKnowledge(unlocked: factor) }
        let factor = try await self.open().activation.unlockKnowledge(password: Self.password)
        self.memory.withLock { $0.unlocked = factor }
        return .possessionAndKnowledge(unlocked: factor)
    }
}

extension OfflineOperation.ParsingError {
    /// The error in words for people, without code names.
    fileprivate var words: String {
        guard let line = self.line else { return "it is no text" }
        let place = "line \(line)" + (self.field.map { ", field \($0)," } ?? "")
        return "\(place) \(self.code == .missingLine ? "is missing" : "cannot be read")"
    }
}

extension Emulator.NewDevice.Push {
    fileprivate var platform: PushService.Platform {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .hms: .hms
        }
    }
}
