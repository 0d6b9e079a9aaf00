import EmulatorBackend
import MobileToken
import PowerAuth
import PowerAuthCrypto
import Synchronization

/// A virtual device at work: the SDK with a store of its own.
///
/// The store moves the counter before a request leaves. So who takes a copy of all devices meanwhile takes none that is behind its
/// server.
actor DeviceSession {
    nonisolated let activationID: String
    nonisolated let model: DeviceKeys.Model

    private nonisolated let rows: MemoryDriver
    private nonisolated let unlocked: Mutex<Authentication.UnlockedFactor?>
    private let site: DeviceSite
    private var opened: Opened?

    private struct Opened {
        /// Holds what the activation has of the server.
        let client: MobileTokenClient
        let activation: Activation
        let operations: OperationsService

        init(_ client: MobileTokenClient, _ activation: Activation) {
            (self.client, self.activation) = (client, activation)
            self.operations = client.operations(of: activation)
        }
    }

    /// The passwords of all virtual devices, who protect nothing.
    private static let password = "virtual device"
    private static let wrongPassword = "mistyped"
    /// The number of entries of its receipts that a device keeps at least; nobody reads them but itself.
    private static let receiptEntries = 16

    /// Takes up the work of a device that has an activation. Nothing is opened before it is needed.
    init(_ keys: DeviceKeys, at site: DeviceSite) {
        self.activationID = keys.activationID
        self.model = keys.model
        self.rows = MemoryDriver(keys.rows)
        self.unlocked = Mutex(keys.unlocked)
        self.site = site
    }

    private init(_ opened: Opened, _ model: DeviceKeys.Model, _ rows: MemoryDriver, at site: DeviceSite) {
        self.activationID = opened.activation.activationID
        self.model = model
        self.rows = rows
        self.unlocked = Mutex(nil)
        self.site = site
        self.opened = opened
    }

    /// What it keeps at this moment.
    nonisolated var keys: DeviceKeys {
        DeviceKeys(
            activationID: self.activationID,
            model: self.model,
            rows: self.rows.snapshot,
            unlocked: self.unlocked.withLock { $0 }
        )
    }

    // MARK: Activation

    /// Activates with a code.
    ///
    /// An activation whose confirmation was lost is one all the same: the device confirms it when it next looks for operations.
    static func activate(
        with code: String,
        name: String,
        _ model: DeviceKeys.Model,
        at site: DeviceSite
    ) async throws(DeviceFailure) -> DeviceSession {
        try await DeviceFailure.reading {
            let rows = MemoryDriver(.init(entryLimit: Self.receiptEntries))
            let client = try Self.client(model, rows, at: site)
            var request = try ActivationRequest(code: code)
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

    /// Returns the identifiers of the operations that wait for the user, newest first.
    func look() async throws(DeviceFailure) -> [String] { try await self.operations().map(\.id) }

    private func operations() async throws(DeviceFailure) -> [UserOperation] {
        try await DeviceFailure.reading {
            let opened = try await self.open()
            do {
                return try await opened.operations.operations()
            } catch let error as MobileTokenError where error.code == .activationNotConfirmed {
                try await opened.activation.confirm(password: SecretBytes(utf8: Self.password))
                return try await opened.operations.operations()
            }
        }
    }

    /// Decides an operation.
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
                let mistyped = Authentication.possessionAndKnowledge(password: Self.wrongPassword)
                try await service.authorize(operation, with: mistyped)
            }
        }
    }

    /// Returns two factors, or possession where the server takes nothing else.
    private func factors(for operation: UserOperation) async throws -> Authentication {
        let password = Authentication.possessionAndKnowledge(password: Self.password)
        if !operation.allows(password), operation.allows(.possession) { return .possession }
        if let factor = self.unlocked.withLock({ $0 }) { return .possessionAndKnowledge(unlocked: factor) }
        let factor = try await self.open().activation.unlockKnowledge(password: Self.password)
        self.unlocked.withLock { $0 = factor }
        return .possessionAndKnowledge(unlocked: factor)
    }
}
