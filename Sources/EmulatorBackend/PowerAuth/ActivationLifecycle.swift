internal import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    /// A registration that waits for a device.
    mutating func addRegistration(
        userID: String,
        flags: [String],
        application: ServerApplication,
        otp: ActivationOTP?,
        commitPhase: ServerActivation.CommitPhase?,
        _ now: Milliseconds
    ) throws(CryptoError) -> ServerActivation {
        let code = try self.freshActivationCode(signedBy: application.masterKey)
        let offer = ServerActivation.Offer(
            code: code.code,
            signature: Base64.encode(code.signature ?? []),
            expires: now + self.limits.activationCodeLifetime.inMilliseconds
        )
        let activation = ServerActivation(
            id: self.state.randomness.identifier(),
            userID: userID,
            applicationID: application.id,
            flags: flags,
            offer: offer,
            otp: otp,
            commitPhase: commitPhase,
            maximumFailedAttempts: self.limits.failedAttempts,
            created: now
        )
        self.state.activations[activation.id] = activation
        self.state.offers[offer.code] = activation.id
        self.state.nextActivationExpiration = min(self.state.nextActivationExpiration ?? offer.expires, offer.expires)
        return activation
    }

    private mutating func freshActivationCode(signedBy key: P256PrivateKey) throws(CryptoError) -> ActivationCode {
        while true {
            let randomBytes = self.state.randomness.bytes(ActivationCode.randomByteCount)
            let code = try ActivationCode(randomBytes: randomBytes, signedBy: key)
            if self.state.offers[code.code] == nil { return code }
        }
    }

    /// Removes what waited too long for a device or for the server side's commit.
    mutating func expireActivations(_ context: inout RequestContext) {
        guard let next = self.state.nextActivationExpiration, next <= context.now else { return }
        var remaining: Milliseconds?
        for activation in self.state.activations.newestFirst where activation.isUnfinished {
            guard let offer = activation.offer else { continue }
            if offer.expires <= context.now {
                self.remove(activation.id, &context)
            } else {
                remaining = min(remaining ?? offer.expires, offer.expires)
            }
        }
        self.state.nextActivationExpiration = remaining
    }

    /// Ends an activation, with all that depends on it.
    mutating func remove(_ activationID: String, _ context: inout RequestContext) {
        self.state.activations.update(activationID) { $0.remove() }
        self.state.tokens.removeAll { $0.activationID == activationID }
        self.state.recoveryCodes.removeAll { $0.activationID == activationID }
        self.state.devices[activationID] = nil
        guard let activation = self.state.activations[activationID] else { return }
        if let code = activation.offer?.code { self.state.offers[code] = nil }
        context.report(activation)
    }

    /// Recovery codes that came with an activation can be used once it is committed.
    mutating func activateRecoveryCodes(of activationID: String) {
        for recovery in Array(self.state.recoveryCodes.values)
        where recovery.activationID == activationID && recovery.status == .created {
            self.state.recoveryCodes.update(recovery.code) { $0.status = .active }
        }
    }
}
