import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// An activation, for its device.
enum ActivationEndpoints {
    static let routes: [Backend.Route] =
        [
            .device("POST", "/pa/v3/activation/status", "Tells an activation's status.", Self.status),
            .device("POST", "/pa/v3/activation/remove", "Removes an activation.", Self.remove),
            .device("POST", "/pa/v3/user/info", "Tells what is known of the user.", Self.userInfo),
            .device("POST", "/pa/v3/recovery/confirm", "Confirms a recovery code.", Self.confirmRecovery),
        ]
        + ["DELETE", "GET", "POST", "PUT"].map { method in
            .device(method, "/pa/v3/signature/validate", "Verifies a signature.", Self.validate)
        }

    static func status(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.requestObject()
        let id = try request.string("activationId")
        guard let challenge = Base64.decode(try request.string("challenge")), challenge.count == 16 else {
            throw .invalidRequest("'challenge' is not 16 bytes in Base64")
        }
        context.activationID = id
        let nonce = bank.state.randomness.bytes(16)
        let blob: [UInt8]
        if let activation = bank.state.activations[id], let device = activation.device {
            blob = try Self.statusBlob(bank, of: activation, device, challenge: challenge, nonce: nonce)
        } else {
            // Without its keys, nobody learns whether an activation exists.
            blob = bank.state.randomness.bytes(32)
        }
        return .object([
            "activationId": .string(id),
            "encryptedStatusBlob": .string(Base64.encode(blob)),
            "nonce": .string(Base64.encode(nonce)),
            "customObject": [:],
        ])
    }

    private static func statusBlob(
        _ bank: Backend,
        of activation: ServerActivation,
        _ device: DeviceBinding,
        challenge: [UInt8],
        nonce: [UInt8]
    ) throws(Refusal) -> [UInt8] {
        do {
            let blob = ActivationStatusBlob(
                state: activation.status.state,
                counterByte: device.counter.byte,
                failedAttempts: UInt8(clamping: activation.failedAttempts),
                maxFailedAttempts: UInt8(clamping: activation.maximumFailedAttempts),
                lookAhead: UInt8(clamping: bank.limits.lookAhead),
                counterHash: try device.counter.hash(transportKey: device.keys.transport)
            )
            return try blob.encrypted(transportKey: device.keys.transport, challenge: challenge, nonce: nonce)
        } catch {
            throw .activation("the status cannot be encrypted")
        }
    }

    static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature = try bank.authenticateSignature(&context, uriID: "/pa/activation/remove", allowing: .twoFactors)
        bank.remove(signature.activation.id, &context)
        return .object(["activationId": .string(signature.activation.id)])
    }

    static func validate(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        _ = try bank.authenticateSignature(&context, uriID: "/pa/signature/validate", allowing: .validatedFactors)
        return .ok
    }

    static func userInfo(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let envelope = try bank.openEncrypted(&context, scope: .activation, purpose: .genericActivation)
        _ = try envelope.json()
        guard let activation = envelope.activation else { throw .encryption("the activation is missing") }
        bank.remember(envelope, at: context.now)
        return .json(try bank.seal(Self.claims(of: activation, at: context.now), in: envelope, at: context.now))
    }

    /// What the server knows of a user, as OpenID names it.
    static func claims(of activation: ServerActivation, at now: Milliseconds) -> JSONValue {
        [
            "sub": .string(activation.userID),
            "preferred_username": .string(activation.userID),
            "iat": .number(JSONNumber(now / 1000)),
        ]
    }

    static func confirmRecovery(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let (signature, envelope) = try bank.authenticateEncrypted(
            &context,
            purpose: .recoveryConfirm,
            uriID: "/pa/recovery/confirm",
            allowing: .twoFactors
        )
        let code = try envelope.json().string("recoveryCode")
        guard let recovery = bank.state.recoveryCodes[code], recovery.userID == signature.activation.userID,
            recovery.applicationID == signature.application.id
        else { throw .recovery("the recovery code is unknown") }
        guard recovery.status == .created || recovery.status == .active else {
            throw .recovery("the recovery code is \(recovery.status.rawValue)")
        }
        bank.state.recoveryCodes.update(recovery.code) { $0.status = .active }
        let response: JSONValue = ["alreadyConfirmed": .bool(recovery.status == .active)]
        return .json(try bank.seal(response, in: envelope, at: context.now))
    }
}
