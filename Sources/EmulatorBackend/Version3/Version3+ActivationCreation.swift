import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// How an activation begins: the exchange of keys, and what a device must show for it.
enum ActivationCreation {
    static let routes: [Backend.Route] = [
        .device("POST", "/pa/v3/activation/create", adds: .contents, "Creates an activation.", Self.create)
    ]

    /// Exchanges keys with a device. Two envelopes lie inside one another: the outer is the application's, the inner
    /// would be opened by a server behind it.
    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let outer = try bank.openEncrypted(&context, scope: .application, purpose: .genericApplication)
        let layer = try outer.json()
        let inner = try Self.openInner(bank, of: layer, outer, at: context.now)
        let request = try ActivationRequest(outer: layer, inner: inner.json())
        let grant = try Self.grant(&bank, of: request, outer.application, &context)
        let device = try Self.binding(&bank, to: request.devicePublicKey, version: outer.version)

        // Nothing is refused any more.
        bank.remember(outer, at: context.now)
        bank.remember(inner, at: context.now)
        let activation = Self.begin(&bank, grant, device, request.description, outer.application, &context)
        let recovery = try Self.issueRecoveryCode(&bank, for: activation)
        var keys: JSONObject = [
            "activationId": .string(activation.id),
            "serverPublicKey": .string(Base64.encode(device.serverKey.publicKey.uncompressed)),
            "ctrData": .string(Base64.encode(device.counter.data)),
        ]
        keys["activationRecovery"] = ["recoveryCode": .string(recovery.code), "puk": .string(recovery.puk)]
        var response: JSONObject = ["activationData": try bank.seal(.object(keys), in: inner, at: context.now)]
        response["customAttributes"] = request.customAttributes.map { .object($0) }
        response["userInfo"] = ActivationEndpoints.claims(of: activation, at: context.now)
        return .json(try bank.seal(.object(response), in: outer, at: context.now))
    }

    private static func openInner(
        _ bank: Backend,
        of layer: JSONObject,
        _ outer: OpenedEnvelope,
        at now: Milliseconds
    ) throws(Refusal) -> OpenedEnvelope {
        guard let data = try layer.optionalObject("activationData") else {
            throw .invalidRequest("'activationData' is missing")
        }
        let recipient = Backend.Recipient(
            version: outer.version,
            application: outer.application,
            activation: nil,
            purpose: .activation
        )
        return try bank.open(data, recipient, at: now)
    }

    /// The server's half of the keys.
    private static func binding(
        _ bank: inout Backend,
        to devicePublicKey: P256PublicKey,
        version: ProtocolVersion
    ) throws(Refusal) -> DeviceBinding {
        var randomness = bank.state.randomness
        do {
            let binding = try DeviceBinding(
                version: version,
                serverKey: randomness.privateKey(),
                deviceKey: devicePublicKey,
                counter: randomness.secret(16)
            )
            bank.state.randomness = randomness
            return binding
        } catch {
            throw .activation("the keys do not fit")
        }
    }
}

/// What a device asks for when it activates.
private struct ActivationRequest {
    enum Kind: String {
        case code = "CODE"
        case custom = "CUSTOM"
        case recovery = "RECOVERY"
        /// An identity that another service vouches for; to this server the same as any other credentials.
        case direct = "DIRECT"
    }

    let kind: Kind
    let identity: [String: String]
    let customAttributes: JSONObject?
    let devicePublicKey: P256PublicKey
    let description: ServerActivation.Description

    init(outer: JSONObject, inner: JSONObject) throws(Refusal) {
        // The documentation says `activationType`, clients send `type`.
        let kind = try outer.string("type", or: "activationType")
        guard let kind = Kind(rawValue: kind) else { throw .activation("the activation type is unknown") }
        var identity: [String: String] = [:]
        for (name, value) in try outer.valuesByName(of: "identityAttributes") {
            guard let string = value.string else {
                throw .invalidRequest("'identityAttributes' is not a map of strings")
            }
            identity[name] = string
        }
        self.kind = kind
        self.identity = identity
        self.customAttributes = try outer.optionalObject("customAttributes")
        guard let point = Base64.decode(try inner.string("devicePublicKey")), let key = try? P256PublicKey(x963: point)
        else { throw .activation("the device's public key is not a point of the curve") }
        self.devicePublicKey = key
        self.description = ServerActivation.Description(
            name: try inner.optionalString("activationName"),
            platform: try inner.optionalString("platform"),
            deviceInfo: try inner.optionalString("deviceInfo"),
            extras: try inner.optionalString("extras"),
            otp: try inner.optionalString("activationOtp")
        )
    }
}

/// What a device is granted.
private enum ActivationGrant {
    /// A registration that waited for it.
    case registration(ServerActivation)
    /// A new activation for a user whose credentials were accepted.
    case credentials(userID: String)
    /// A new activation in place of the one that a recovery code belongs to.
    case recovery(RecoveryCode)
}

extension ActivationCreation {
    private static func grant(
        _ bank: inout Backend,
        of request: ActivationRequest,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ActivationGrant {
        switch request.kind {
        case .code:
            return .registration(try Self.registration(&bank, waitingFor: request, application, &context))
        case .custom, .direct:
            // Every caller gets an activation: there are no passwords here. The user is named by the attribute that
            // says so, or by the first in alphabetical order.
            let named = ["userId", "username", "login"].lazy.compactMap { request.identity[$0] }.first
            let first = request.identity.min { $0.key < $1.key }?.value
            guard let userID = named ?? first, !userID.isEmpty else {
                throw .activation("there are no identity attributes")
            }
            try bank.requireRoomForActivation()
            return .credentials(userID: userID)
        case .recovery:
            try bank.requireRoomForActivation()
            return .recovery(try Self.recoveryCode(&bank, of: request, application))
        }
    }

    private static func registration(
        _ bank: inout Backend,
        waitingFor request: ActivationRequest,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation {
        guard let code = request.identity["code"], let id = bank.state.offers[code],
            let activation = bank.state.activations[id]
        else { throw .activation("the activation code is unknown, used or expired") }
        context.activationID = id
        guard activation.applicationID == application.id else {
            throw .activation("the activation code belongs to another application")
        }
        guard activation.status == .created else { throw .activation("the activation code was used") }
        guard activation.acceptsOTP(request.description.otp, at: .keyExchange) else {
            bank.state.activations.update(id) { $0.countWrongOTP() }
            if bank.state.activations[id]?.status == .removed { bank.remove(id, &context) }
            throw .activation("the activation OTP is missing or wrong")
        }
        return activation
    }

    private static func recoveryCode(
        _ bank: inout Backend,
        of request: ActivationRequest,
        _ application: ServerApplication
    ) throws(Refusal) -> RecoveryCode {
        guard let code = request.identity["recoveryCode"], let puk = request.identity["puk"],
            let recovery = bank.state.recoveryCodes[code], recovery.applicationID == application.id
        else { throw .activation("the recovery code is unknown") }
        guard recovery.status == .active else { throw .activation("the recovery code is \(recovery.status.rawValue)") }
        guard constantTimeEquals(Array(puk.utf8), Array(recovery.puk.utf8)) else {
            bank.state.recoveryCodes.update(code) { recovery in
                recovery.failures = recovery.failures.addingSaturated(1)
                if recovery.failures >= RecoveryCode.maximumFailures { recovery.status = .blocked }
            }
            var refusal = Refusal.recovery("the PUK is wrong")
            refusal.details = ["currentRecoveryPukIndex": 1]
            throw refusal
        }
        return recovery
    }

    private static func begin(
        _ bank: inout Backend,
        _ grant: ActivationGrant,
        _ device: DeviceBinding,
        _ description: ServerActivation.Description,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) -> ServerActivation {
        var activation: ServerActivation
        switch grant {
        case .registration(let registration):
            activation = registration
            if let code = registration.offer?.code { bank.state.offers[code] = nil }
            activation.bind(device, description, commits: registration.commitsAtKeyExchange)
        case .credentials(let userID):
            activation = Self.newActivation(&bank, userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .recovery(let recovery):
            bank.remove(recovery.activationID, &context)
            activation = Self.newActivation(
                &bank,
                userID: recovery.userID,
                applicationID: recovery.applicationID,
                context.now
            )
            activation.bind(device, description, commits: true)
        }
        bank.state.activations[activation.id] = activation
        context.activationID = activation.id
        context.report(activation)
        return activation
    }

    private static func newActivation(
        _ bank: inout Backend,
        userID: String,
        applicationID: String,
        _ now: Milliseconds
    ) -> ServerActivation {
        ServerActivation(
            id: bank.state.randomness.identifier(),
            userID: userID,
            applicationID: applicationID,
            offer: nil,
            maximumFailedAttempts: bank.limits.failedAttempts,
            created: now
        )
    }

    private static func issueRecoveryCode(_ bank: inout Backend, for activation: ServerActivation) throws(Refusal)
        -> RecoveryCode
    {
        let randomBytes = bank.state.randomness.bytes(ActivationCode.randomByteCount)
        guard let code = try? ActivationCode(randomBytes: randomBytes).code else {
            throw .activation("no recovery code can be made")
        }
        let puk = (0..<10).map { _ in String(Int.random(in: 0...9, using: &bank.state.randomness)) }.joined()
        let recovery = RecoveryCode(
            code: code,
            puk: puk,
            userID: activation.userID,
            applicationID: activation.applicationID,
            activationID: activation.id,
            status: activation.status == .active ? .active : .created
        )
        bank.state.recoveryCodes[code] = recovery
        return recovery
    }
}
