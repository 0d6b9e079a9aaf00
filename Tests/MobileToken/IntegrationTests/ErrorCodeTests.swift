import ExactJSON
import StoreTesting
import HTTPClientTransport
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Every kind of error, brought about by what a server or a network can do, or by a call that makes no sense.
@Suite(.timeLimit(.minutes(5))) struct ErrorCodeTests {
    struct Way: Sendable, CustomTestStringConvertible {
        let code: MobileTokenError.Code
        let walk: @Sendable (Device) async throws -> Void

        var testDescription: String { self.code.description }

        init(to code: MobileTokenError.Code, _ walk: @escaping @Sendable (Device) async throws -> Void) {
            self.code = code
            self.walk = walk
        }
    }

    struct Device: Sendable {
        let emulator: Emulator
        /// Passes everything on, unless a test changes it.
        let network: Network
        let client: MobileTokenClient
        let activation: Activation
        let service: OperationsService

        func offer(_ template: String = "login") async throws -> UserOperation {
            try await self.emulator.offer(template, to: "alice", on: self.service)
        }
    }

    /// A network that a test may change at any time.
    final class Network: Sendable {
        typealias Rule = @Sendable (HTTPRequest, InterceptingTransport.Delivery) async throws -> HTTPResponse

        let rule = Shared<Rule>({ try await $1($0) })

        func transport() throws -> InterceptingTransport {
            try InterceptingTransport { try await self.rule.value($0, $1) }
        }
    }

    @Test(arguments: Self.waysOfTheServer + Self.waysOfTheNetwork + Self.waysOfTheCaller)
    func anErrorIsReached(way: Way) async throws {
        try await withEmulator { emulator in
            let network = Network()
            let client = try emulator.makeClient { $0.transport = try network.transport() }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let device = Device(
                emulator: emulator,
                network: network,
                client: client,
                activation: activation,
                service: client.makeOperationsService(for: activation)
            )
            let error = try await #require(throws: MobileTokenError.self) { try await way.walk(device) }
            #expect(error.code == way.code)
            for secret in [password, emulator.applicationSecret] { #expect(!"\(error)".contains(secret)) }
        }
    }

    /// The codes that no server, network or call brings about here, and why.
    static let unreached: [MobileTokenError.Code: String] = [
        .cryptographyFailed: "the cryptographic library would have to fail"
    ]

    @Test func everyCodeIsReachedByExactlyOneWay() {
        let ways = Self.waysOfTheServer + Self.waysOfTheNetwork + Self.waysOfTheCaller
        #expect(ways.count == Set(ways.map(\.code)).count)
        #expect(Set(ways.map(\.code)).isDisjoint(with: Self.unreached.keys))
        #expect(Set(ways.map(\.code)).union(Self.unreached.keys) == Self.all)
    }

    /// All codes but those of the stores, which have tests of their own.
    static let all: Set<MobileTokenError.Code> = [
        .invalidConfiguration, .invalidActivationCode, .invalidAuthentication, .unknownActivation,
        .authenticationFailed, .refusalUnproven, .remoteCommunicationFailed, .activationBlocked, .activationRemoved,
        .activationPending, .activationFailed, .deadlock, .signaturesAreLost, .outcomeUnknown,
        .stateRolledBack, .invalidRequest, .temporaryKeyRefused, .encryptionFailed, .vaultUnlockFailed, .serverError,
        .httpStatus, .invalidResponse, .noConnection, .connectionLost, .timeout, .tlsFailed, .networkUnknown,
        .storeFailed, .cryptographyFailed,
        .operationAlreadyFinished, .operationAlreadyFailed, .operationAlreadyCanceled, .operationAlreadyRejected,
        .authorizeExpired, .rejectExpired, .claimExpired, .detailExpired, .operationFailed, .notAuthorizable,
        .factorsNotAllowed, .offlineFailed, .invalidActivation, .pushRegistrationFailed, .pushAlreadyRegistering,
        .invalidLanguage,
    ]
}

// MARK: - What a server says

extension ErrorCodeTests {
    static let waysOfTheServer = [
        Way(to: .authenticationFailed) { try await $0.activation.validate(.possessionAndKnowledge(password: "wrong")) },
        Way(to: .refusalUnproven) { device in
            await device.emulator.faults.set([
                FaultRule(
                    match: .init(path: "**/signature/validate"),
                    effect: .init(status: 401, code: "ERR_AUTHENTICATION")
                )
            ])
            try await device.activation.validate(.twoFactors)
        },
        // So says a server whose database is down.
        Way(to: .remoteCommunicationFailed) { device in
            await device.emulator.faults.set([FaultRule(effect: .init(status: 400, code: "ERR_ACTIVATION"))])
            _ = try await device.activation.status()
        },
        Way(to: .activationBlocked) { device in
            try await device.emulator.blockActivation(device.activation.activationID)
            try await device.activation.validate(.twoFactors)
        },
        Way(to: .activationRemoved) { device in
            try await device.emulator.removeActivation(device.activation.activationID)
            try await device.activation.validate(.twoFactors)
        },
        Way(to: .activationPending) { device in
            let registration = try await device.emulator.cloud.register(userID: "bob")
            let uncommitted = try await device.client.activate(code: registration.activationCode, password: password)
            try await uncommitted.validate(.twoFactors)
        },
        Way(to: .activationFailed) { device in
            let registration = try await device.emulator.cloud.register(userID: "bob")
            _ = try await device.client.activate(code: registration.activationCode, password: password)
            _ = try await device.client.activate(code: registration.activationCode, password: password)
        },
        Way(to: .deadlock) { device in
            device.network.rule.value = { request, deliver in
                guard !request.isSigned else { throw HTTPTransportError(.connectionLost) }
                return try await deliver(request)
            }
            for _ in 1...21 { _ = try await errorCode { try await device.activation.tryCounter() } }
            try await device.activation.validate(.twoFactors)
        },
        Way(to: .signaturesAreLost) { device in
            device.network.rule.value = { request, deliver in
                guard !request.isSigned else { throw HTTPTransportError(.connectionLost) }
                return try await deliver(request)
            }
            for _ in 1...10 { _ = try await errorCode { try await device.activation.validate(.possession) } }
            try await device.activation.validate(.twoFactors)
        },
        Way(to: .outcomeUnknown) { device in
            let operation = try await device.offer()
            await device.emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/cancel"), effect: .lostRequest)
            ])
            try await device.service.reject(operation)
        },
        Way(to: .stateRolledBack) { device in
            try await device.emulator.advanceCounter(ofActivation: device.activation.activationID, by: 30)
            try await device.activation.validate(.twoFactors)
        },
        // Documented, and seen from no server.
        Way(to: .invalidActivation) { device in
            await device.emulator.faults.set([
                FaultRule(effect: .init(status: 400, code: "INVALID_ACTIVATION"))
            ])
            try await device.client.makePushService(for: device.activation).register(token: "t", for: .fcm)
        },
        Way(to: .invalidRequest) { device in
            let operation = try await device.emulator.cloud.createOperation("login", userID: "bob")
            _ = try await device.service.detail(id: operation.id)
        },
        Way(to: .temporaryKeyRefused) { device in
            await device.emulator.faults.set([
                FaultRule(
                    match: .init(path: "**/keystore/create"),
                    effect: .init(status: 400, code: "ERR_TEMPORARY_KEY")
                )
            ])
            _ = try await device.activation.userInfo()
        },
        Way(to: .encryptionFailed) { device in
            device.network.rule.value = { request, deliver in
                var request = request
                if request.url.hasSuffix("/user/info"), var body = request.body.flatMap({ try? JSONValue(parsing: $0) })
                {
                    if case .object(var object) = body {
                        object["mac"] = .string(String(repeating: "A", count: 43) + "=")
                        body = .object(object)
                    }
                    request.body = body.serialized()
                }
                return try await deliver(request)
            }
            _ = try await device.activation.userInfo()
        },
        Way(to: .vaultUnlockFailed) { device in
            // Servers of version 3 do not take biometry for it, unless they are set up so.
            let key = SecretBytes(copying: Array(0..<16))
            try await device.activation.addBiometryFactor(key: key, password: SecretBytes(utf8: password))
            _ = try await device.activation.deriveDataKey(index: 1, with: .possessionAndBiometry(key: key))
        },
        Way(to: .serverError) { device in
            await device.emulator.faults.set([FaultRule(effect: .init(status: 500))])
            try await device.service.operations()
        },
        Way(to: .httpStatus) { device in
            await device.emulator.faults.set([FaultRule(effect: .init(status: 502, body: .garbage))])
            try await device.service.operations()
        },
        Way(to: .invalidResponse) { device in
            await device.emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/list"), effect: .init(body: .garbage))
            ])
            try await device.service.operations()
        },
        Way(to: .operationAlreadyFinished) { device in
            let operation = try await device.offer()
            try await device.service.authorize(operation, with: .twoFactors)
            try await device.service.authorize(operation, with: .twoFactors)
        },
        // This server calls it finished; others have a code of its own.
        Way(to: .operationAlreadyRejected) { device in
            let operation = try await device.offer()
            try await device.service.reject(operation)
            device.network.rule.value = { request, deliver in
                var response = try await deliver(request)
                let text = String(decoding: response.body, as: UTF8.self)
                response.body = Array(text.replacing("ALREADY_FINISHED", with: "ALREADY_REJECTED").utf8)
                return response
            }
            try await device.service.authorize(operation, with: .twoFactors)
        },
        Way(to: .operationAlreadyFailed) { device in
            let operation = try await device.offer("login_proximity")
            for _ in 1...4 {
                await #expect(throws: MobileTokenError.self) {
                    try await device.service.authorize(operation, with: .twoFactors)
                }
            }
            try await device.service.authorize(operation, with: .twoFactors)
        },
        Way(to: .operationAlreadyCanceled) { device in
            let operation = try await device.offer()
            try await device.emulator.cloud.cancelOperation(operation.id, reason: "NOT_NEEDED")
            try await device.service.authorize(operation, with: .twoFactors)
        },
        Way(to: .operationFailed) { device in
            // Without the code that shows where the person is.
            try await device.service.authorize(try await device.offer("login_proximity"), with: .twoFactors)
        },
        Way(to: .authorizeExpired) { device in
            let operation = try await device.offer()
            await device.emulator.clock.advance(by: .seconds(301))
            try await device.service.authorize(operation, with: .twoFactors)
        },
        Way(to: .rejectExpired) { device in
            let operation = try await device.offer()
            await device.emulator.clock.advance(by: .seconds(301))
            try await device.service.reject(operation)
        },
        Way(to: .claimExpired) { device in
            let operation = try await device.emulator.cloud.createOperation("login", userID: nil)
            await device.emulator.clock.advance(by: .seconds(301))
            try await device.service.claim(id: operation.id)
        },
        Way(to: .detailExpired) { device in
            let operation = try await device.offer()
            await device.emulator.clock.advance(by: .seconds(301))
            _ = try await device.service.detail(id: operation.id)
        },
        Way(to: .pushRegistrationFailed) { device in
            let push = device.client.makePushService(for: device.activation)
            try await push.register(token: String(repeating: "t", count: 300), for: .fcm)
        },
        Way(to: .offlineFailed) { device in
            let operation = try await device.emulator.cloud.createOperation("payment", userID: "alice")
            let qrCode = try await device.emulator.cloud.offlineCode(operation: operation.id)
            let forged = try OfflineOperation.Unverified(
                parsing: qrCode.content.replacing(operation.id, with: "forged")
            )
            _ = try await device.service.authorize(offline: forged, with: .twoFactors)
        },
    ]
}

// MARK: - What a network does

extension ErrorCodeTests {
    static let waysOfTheNetwork = [
        Way(to: .noConnection) { device in
            await device.emulator.stop()
            // A connection from before may be the one that is lost.
            _ = try? await device.activation.status()
            _ = try await device.activation.status()
        },
        Way(to: .connectionLost) { device in
            await device.emulator.faults.set([FaultRule(effect: .lostAnswer)])
            _ = try await device.activation.status()
        },
        Way(to: .timeout) { device in
            await device.emulator.faults.set([FaultRule(effect: .init(drip: 1))])
            device.network.rule.value = { request, deliver in
                try await deliver(altered(request) { $0.timeout = .milliseconds(100) })
            }
            _ = try await device.activation.status()
        },
        Way(to: .tlsFailed) { device in
            device.network.rule.value = { request, deliver in
                var request = request
                request.url.replace("http://", with: "https://")  // nobody speaks TLS there
                return try await deliver(request)
            }
            _ = try await device.activation.status()
        },
        Way(to: .networkUnknown) { device in
            struct Unknown: Error {}
            device.network.rule.value = { _, _ in throw Unknown() }
            _ = try await device.activation.status()
        },
    ]
}

// MARK: - What a caller does

extension ErrorCodeTests {
    static let waysOfTheCaller = [
        Way(to: .invalidConfiguration) { device in
            _ = try MobileTokenClient(baseURL: "ftp://example.com", sdkConfiguration: device.emulator.sdkConfiguration)
        },
        Way(to: .invalidActivationCode) {
            _ = try await $0.client.activate(code: "AAAAA-AAAAA-AAAAA-AAAAB", password: password)
        },
        Way(to: .invalidAuthentication) { try await $0.activation.validate(.possessionAndKnowledge(password: "123")) },
        Way(to: .unknownActivation) { device in
            try await device.activation.removeLocally()
            try await device.activation.validate(.twoFactors)
        },
        Way(to: .notAuthorizable) { device in
            let operation = try await device.offer()
            try await device.service.authorize(operation, with: .twoFactors)
            let past = try await device.service.history(authenticatedBy: .twoFactors).operations
            try await device.service.authorize(try #require(past.first), with: .twoFactors)
        },
        Way(to: .factorsNotAllowed) { try await $0.service.authorize(try await $0.offer(), with: .possession) },
        Way(to: .invalidLanguage) { _ in _ = try MobileTokenClient.AcceptLanguage("no_language") },
        Way(to: .pushAlreadyRegistering) { device in
            let (push, door) = (device.client.makePushService(for: device.activation), Door())
            device.network.rule.value = { request, deliver in
                await door.pass()
                return try await deliver(request)
            }
            let first = Task { try await push.register(token: "first", for: .fcm) }
            await door.waitForVisitors()
            defer { door.open() }
            try await push.register(token: "second", for: .fcm)
            try await first.value
        },
        Way(to: .storeFailed) { device in
            let client = try device.emulator.makeClient { $0.store = .inMemory { BrokenDriver(base: $0) } }
            _ = try await client.activations()
        },
    ]
}

/// A driver whose disk is gone.
private struct BrokenDriver: ForwardingDriver {
    private struct Gone: Error {}

    let base: any JournalDriver

    func passing<Result>(_ call: () async throws -> Result) async throws -> Result { throw Gone() }
}
