internal import Basics
internal import EmulatorMessages
internal import ExactJSON
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    /// Exchanges keys with a device. Two envelopes lie inside one another: the outer is the application's, the inner
    /// would be opened by a server behind it.
    mutating func createActivation(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let outer = try self.openEncrypted(&context, scope: .application, path: .genericApplication)
        let layer = try outer.json()
        let inner = try self.openInner(of: layer, outer, at: context.now)
        let request = try ActivationRequest(outer: layer, inner: inner.json())
        let grant = try self.grant(of: request, outer.application, &context)
        let device = try self.binding(to: request.devicePublicKey, version: outer.version)

        // Nothing is refused any more.
        self.remember(outer, at: context.now)
        self.remember(inner, at: context.now)
        let activation = self.begin(grant, device, request.description, outer.application, &context)
        let recovery = try self.issueRecoveryCode(for: activation)
        var keys: JSONObject = [
            "activationId": .string(activation.id),
            "serverPublicKey": .string(Base64.encode(device.serverKey.publicKey.uncompressed)),
            "ctrData": .string(Base64.encode(device.counter.data)),
        ]
        keys["activationRecovery"] = ["recoveryCode": .string(recovery.code), "puk": .string(recovery.puk)]
        var answer: JSONObject = ["activationData": try self.seal(.object(keys), in: inner, at: context.now)]
        answer["customAttributes"] = request.customAttributes.map { .object($0) }
        answer["userInfo"] = Self.claims(of: activation, at: context.now)
        return .json(try self.seal(.object(answer), in: outer, at: context.now))
    }

    private func openInner(
        of layer: JSONObject,
        _ outer: OpenedEnvelope,
        at now: Milliseconds
    ) throws(Refusal) -> OpenedEnvelope {
        guard let data = try layer.optionalObject("activationData") else {
            throw .invalidRequest("'activationData' is missing")
        }
        let recipient = Recipient(
            version: outer.version,
            application: outer.application,
            activation: nil,
            path: .activation
        )
        return try self.open(data, recipient, at: now)
    }

    /// The server's half of the keys.
    private mutating func binding(
        to devicePublicKey: P256PublicKey,
        version: ProtocolVersion
    ) throws(Refusal) -> DeviceBinding {
        var randomness = self.state.randomness
        do {
            let binding = try DeviceBinding(
                version: version,
                serverKey: randomness.privateKey(),
                deviceKey: devicePublicKey,
                counter: randomness.secret(16)
            )
            self.state.randomness = randomness
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
        /// An identity that somebody else vouches for; to this server the same as any other credentials.
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
            guard let text = value.string else { throw .invalidRequest("'identityAttributes' is not a map of strings") }
            identity[name] = text
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

extension Backend {
    private mutating func grant(
        of request: ActivationRequest,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ActivationGrant {
        switch request.kind {
        case .code:
            return .registration(try self.registration(waitingFor: request, application, &context))
        case .custom, .direct:
            // Whoever asks gets an activation: there are no passwords here. The user is named by the attribute that
            // says so, or by the first in alphabetical order.
            let named = ["userId", "username", "login"].lazy.compactMap { request.identity[$0] }.first
            let first = request.identity.min { $0.key < $1.key }?.value
            guard let userID = named ?? first, !userID.isEmpty else {
                throw .activation("there are no identity attributes")
            }
            try self.requireRoomForActivation()
            return .credentials(userID: userID)
        case .recovery:
            try self.requireRoomForActivation()
            return .recovery(try self.recoveryCode(of: request, application))
        }
    }

    private mutating func registration(
        waitingFor request: ActivationRequest,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation {
        guard let code = request.identity["code"], let id = self.state.offers[code],
            let activation = self.state.activations[id]
        else { throw .activation("the activation code is unknown, used or expired") }
        context.activationID = id
        guard activation.applicationID == application.id else {
            throw .activation("the activation code belongs to another application")
        }
        guard activation.status == .created else { throw .activation("the activation code was used") }
        guard activation.acceptsOTP(request.description.otp, at: .keyExchange) else {
            self.state.activations.update(id) { $0.countWrongOTP() }
            if self.state.activations[id]?.status == .removed { self.remove(id, &context) }
            throw .activation("the activation's own code is missing or wrong")
        }
        return activation
    }

    private mutating func recoveryCode(
        of request: ActivationRequest,
        _ application: ServerApplication
    ) throws(Refusal) -> RecoveryCode {
        guard let code = request.identity["recoveryCode"], let puk = request.identity["puk"],
            let recovery = self.state.recoveryCodes[code], recovery.applicationID == application.id
        else { throw .activation("the recovery code is unknown") }
        guard recovery.status == .active else { throw .activation("the recovery code is \(recovery.status.rawValue)") }
        guard constantTimeEquals(Array(puk.utf8), Array(recovery.puk.utf8)) else {
            self.state.recoveryCodes.update(code) { recovery in
                recovery.failures = recovery.failures.addingSaturated(1)
                if recovery.failures >= RecoveryCode.maximumFailures { recovery.status = .blocked }
            }
            var refusal = Refusal.recovery("the PUK is wrong")
            refusal.details = ["currentRecoveryPukIndex": 1]
            throw refusal
        }
        return recovery
    }

    private mutating func begin(
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
            if let code = registration.offer?.code { self.state.offers[code] = nil }
            activation.bind(device, description, commits: registration.commitsAtKeyExchange)
        case .credentials(let userID):
            activation = self.newActivation(userID: userID, applicationID: application.id, context.now)
            activation.bind(device, description, commits: true)
        case .recovery(let recovery):
            self.remove(recovery.activationID, &context)
            activation = self.newActivation(userID: recovery.userID, applicationID: recovery.applicationID, context.now)
            activation.bind(device, description, commits: true)
        }
        self.state.activations[activation.id] = activation
        context.activationID = activation.id
        context.report(activation)
        return activation
    }

    private mutating func newActivation(
        userID: String,
        applicationID: String,
        _ now: Milliseconds
    ) -> ServerActivation {
        ServerActivation(
            id: self.state.randomness.identifier(),
            userID: userID,
            applicationID: applicationID,
            offer: nil,
            maximumFailedAttempts: self.limits.failedAttempts,
            created: now
        )
    }

    private mutating func issueRecoveryCode(for activation: ServerActivation) throws(Refusal) -> RecoveryCode {
        let randomBytes = self.state.randomness.bytes(ActivationCode.randomByteCount)
        guard let code = try? ActivationCode(randomBytes: randomBytes).code else {
            throw .activation("no recovery code can be made")
        }
        let puk = (0..<10).map { _ in String(Int.random(in: 0...9, using: &self.state.randomness)) }.joined()
        let recovery = RecoveryCode(
            code: code,
            puk: puk,
            userID: activation.userID,
            applicationID: activation.applicationID,
            activationID: activation.id,
            status: activation.status == .active ? .active : .created
        )
        self.state.recoveryCodes[code] = recovery
        return recovery
    }
}
