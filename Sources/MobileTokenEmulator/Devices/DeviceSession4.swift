import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// The client's half of version 4.0.
struct DeviceSession4: DeviceSession {
    static var version: String { ProtocolVersion.v4_0.rawValue }

    struct Application {
        let configuration: SDKConfiguration
        let suite: AlgorithmSuite
        let masterKeys: Version4.SigningPublicKeys

        fileprivate init(_ description: ApplicationDescription, suite: AlgorithmSuite) throws {
            self.configuration = try SDKConfiguration(parsing: description.sdkConfiguration)
            guard let masterKeys = self.configuration.version4MasterPublicKeys else {
                throw DeviceFailure.refused(reason: "the server has no application for devices of version 4")
            }
            self.masterKeys = try masterKeys.keys(of: suite)
            self.suite = suite
        }

        var key: String { self.configuration.applicationKey }
        var secret: ApplicationSecret { self.configuration.applicationSecret }
    }

    private let application: Application
    let activationID: String
    private let keys: Version4.ActivationKeys
    private let serverKeys: Version4.SigningPublicKeys
    private var counter: Version4.HashCounter
    private var isConfirmed = false
    private var token: Version4.TokenResponse?

    // MARK: - Activation

    static func application(_ server: DeviceServer) throws -> Application {
        guard let suite = server.offeredSuites.contains(.p384) ? .p384 : server.offeredSuites.first else {
            throw DeviceFailure.refused(reason: "the server offers no suite of version 4")
        }
        return try Application(server.application, suite: suite)
    }

    static func temporaryKeyExchange(_ application: Application) throws -> DeviceExchange<TemporaryKey> {
        try Self.temporaryKeyExchange(application, activation: nil)
    }

    static func activationExchange(_ device: NewDevice<Self>) throws -> DeviceExchange<Self> {
        let (application, temporaryKey) = (device.application, device.temporaryKey)
        let privateKeys = try Version4.SigningPrivateKeys(suite: application.suite)
        let agreement = PendingAgreement(try Version4.SharedSecretAgreement(suite: application.suite))
        let content = Version4.ActivationRequestContent(
            sharedSecretRequest: agreement.request,
            devicePublicKeys: privateKeys.publicKeys,
            activationName: device.name,
            activationOtp: nil,
            platform: "linux",
            deviceInfo: "virtual device",
            extras: nil
        )
        var inner = try Self.exchange(.activation, application, nil, temporaryKey)
        var outer = try Self.exchange(.genericApplication, application, nil, temporaryKey)
        let request = Version4.ActivationRequest(
            code: device.code,
            customAttributes: nil,
            activationData: try Self.seal(content, &inner.exchange, at: device.now)
        )
        return DeviceExchange(
            path: Version4.Endpoint.activationCreate.path,
            headers: [(Version4.EncryptionHeader.name, outer.header)],
            body: Array(try JSONEncoder().encode(Self.seal(request, &outer.exchange, at: device.now)))
        ) { [inner, outer] response, _ in
            let layer: Version4.ActivationResponse = try Self.open(Self.decode(response), outer.exchange)
            let created: Version4.ActivationResponseContent = try Self.open(layer.activationData, inner.exchange)
            return try Self(created, agreement, application)
        }
    }

    /// Takes what an activation gave.
    private init(
        _ created: Version4.ActivationResponseContent,
        _ agreement: PendingAgreement,
        _ application: Application
    ) throws {
        let secret = try agreement.secret(from: created.keys.sharedSecretResponse)
        self.application = application
        self.activationID = created.activationID
        self.keys = try Version4.ActivationKeys(activationSecret: secret)
        self.serverKeys = try created.keys.serverPublicKeys.keys(of: application.suite)
        self.counter = Version4.HashCounter(data: created.keys.counterData)
    }

    mutating func prepare(_ wire: DeviceWire) async throws(DeviceFailure) {
        do {
            try await self.confirm(wire)
            try await self.createToken(wire)
        } catch let failure as DeviceFailure {
            throw failure
        } catch {
            throw .unanswered(reason: "the response cannot be read: \(error)")
        }
    }

    /// Sends the first code, which shows the server that both have the same keys.
    private mutating func confirm(_ wire: DeviceWire) async throws {
        guard !self.isConfirmed else { return }
        let content = Version4.RequestObject(Version4.ActivationConfirmation(enableBiometry: false))
        let body = Array(try JSONEncoder().encode(content))
        let header = try self.codeHeader(.possessionKnowledge, uriID: "/pa/activation/confirm", body: body)
        wire.keep(self)
        _ = try await wire.send(Version4.Endpoint.activationConfirm.path, headers: [header], body)
        self.isConfirmed = true
    }

    private mutating func createToken(_ wire: DeviceWire) async throws {
        guard self.token == nil else { return }
        let keyExchange = try Self.temporaryKeyExchange(self.application, activation: self)
        let temporaryKey = try await wire.perform(keyExchange)
        var (exchange, _) = try Self.exchange(.tokenCreate, self.application, self, temporaryKey)
        let now = await wire.now
        let content = try Self.seal(Version4.NoContent(), &exchange, at: now)
        let body = Array(try JSONEncoder().encode(content))
        let header = try self.codeHeader(.possession, uriID: "/pa/token/create", body: body)
        wire.keep(self)
        let response = try await wire.send(Version4.Endpoint.tokenCreate.path, headers: [header], body)
        self.token = try Self.open(Self.decode(response), exchange)
    }

    // MARK: - Headers

    func tokenHeader(at now: Milliseconds) throws -> TokenHeader {
        let token = try Self.required(self.token)
        return try TokenHeader(
            version4TokenID: token.tokenID,
            secret: token.tokenSecret,
            nonce: SecureRandom.bytes(16),
            timestamp: now
        )
    }

    mutating func codeHeader(
        _ type: SignatureType,
        uriID: String,
        body: [UInt8],
        hasWrongPassword: Bool
    ) throws -> (name: String, value: String) {
        let type: Version4.AuthenticationCodeType = type == .possession ? .possession : .possessionKnowledge
        return try self.codeHeader(type, uriID: uriID, body: body, hasWrongPassword: hasWrongPassword)
    }

    private mutating func codeHeader(
        _ type: Version4.AuthenticationCodeType,
        uriID: String,
        body: [UInt8],
        hasWrongPassword: Bool = false
    ) throws -> (name: String, value: String) {
        let nonce = SecureRandom.bytes(Version4.AuthenticationHeader.nonceByteCount)
        // The key of knowledge is kept under the password: another password gives another key.
        let knowledge = hasWrongPassword ? SecureRandom.secret(Version4.ActivationKeys.byteCount) : self.keys.knowledge
        let code = try Version4.AuthenticationCode(
            SignatureData(method: "POST", uriID: uriID, nonce: nonce, body: body),
            keys: type.factors.map { $0 == .knowledge ? knowledge : self.keys.possession },
            counter: self.counter,
            secret: .online(self.application.secret)
        )
        self.counter = self.counter.next()
        let header = Version4.AuthenticationHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: type,
            code: code
        )
        return (Version4.AuthenticationHeader.name, header.value)
    }
}

/// A shared secret that waits for the server's half, which comes once.
private final class PendingAgreement {
    let request: Version4.SharedSecretRequest
    private var agreement: Version4.SharedSecretAgreement?

    init(_ agreement: consuming Version4.SharedSecretAgreement) {
        self.request = agreement.request
        self.agreement = consume agreement
    }

    func secret(from response: Version4.SharedSecretResponse) throws -> SecretBytes {
        guard let agreement = self.agreement.take() else {
            throw DeviceFailure.unanswered(reason: "there were two responses")
        }
        return try agreement.secret(from: response)
    }
}

// MARK: - Encryption

extension DeviceSession4 {
    struct TemporaryKey {
        let id: String
        let secret: SecretBytes
    }

    /// The envelope of a response to a request for a temporary key.
    private struct KeyResponse: Decodable {
        struct Content: Decodable { let jwt: String }

        let responseObject: Content
    }

    /// - Parameter activation: Whose key it is; `nil` for one of the application.
    private static func temporaryKeyExchange(
        _ application: Application,
        activation: Self?
    ) throws -> DeviceExchange<TemporaryKey> {
        let agreement = PendingAgreement(try Version4.SharedSecretAgreement(suite: application.suite))
        let request = Version4.TemporaryKeyRequest(
            applicationKey: application.key,
            activationID: activation?.activationID,
            challenge: SecureRandom.bytes(Version4.TemporaryKeyRequest.challengeByteCount),
            sharedSecretRequest: agreement.request
        )
        let key =
            try activation?.keys.utility.temporaryKeyRequest
            ?? Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: application.secret)
        let body: JSONValue = ["requestObject": ["jwt": .string(request.jwt(key: key))]]
        return DeviceExchange(path: Version4.Endpoint.temporaryKey.path, body: body.serialized()) { response, now in
            let received: KeyResponse = try Self.decode(response)
            let answer = try Version4.TemporaryKeyResponse(
                jws: received.responseObject.jwt,
                signedBy: activation?.serverKeys ?? application.masterKeys,
                answering: request,
                now: now
            )
            return TemporaryKey(id: answer.keyID, secret: try agreement.secret(from: answer.key))
        }
    }

    /// - Parameter activation: In whose scope; `nil` for that of the application.
    private static func exchange(
        _ purpose: Version4.EncryptionPurpose,
        _ application: Application,
        _ activation: Self?,
        _ temporaryKey: TemporaryKey
    ) throws -> (exchange: Version4.ClientExchange, header: String) {
        let scope: Version4.EncryptionParameters.Scope =
            if let activation {
                .activation(id: activation.activationID, sharedInfo2Key: activation.keys.utility.sharedInfo2)
            } else {
                .application
            }
        let parameters = try Version4.EncryptionParameters(
            applicationKey: application.key,
            applicationSecret: application.secret,
            scope: scope,
            purpose: purpose,
            temporaryKeyID: temporaryKey.id,
            temporaryKey: temporaryKey.secret
        )
        return (Version4.ClientExchange(parameters: parameters), parameters.header.value)
    }

    private static func seal(
        _ content: some Encodable,
        _ exchange: inout Version4.ClientExchange,
        at now: Milliseconds
    ) throws -> Version4.EncryptedRequest {
        try exchange.encryptRequest(
            Array(try JSONEncoder().encode(content)),
            nonce: SecureRandom.bytes(Version4.ClientExchange.nonceByteCount),
            timestamp: now
        )
    }

    private static func open<Content: Decodable>(
        _ response: Version4.EncryptedResponse,
        _ exchange: Version4.ClientExchange
    ) throws -> Content {
        var exchange = exchange
        return try Self.decode(exchange.decryptResponse(response))
    }

    private static func decode<Content: Decodable>(_ body: [UInt8]) throws -> Content {
        try JSONDecoder().decode(Content.self, from: Data(body))
    }
}
