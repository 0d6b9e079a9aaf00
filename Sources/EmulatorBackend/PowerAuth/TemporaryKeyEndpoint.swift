internal import EmulatorMessages
internal import ExactJSON
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    mutating func createTemporaryKey(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let text = try context.requestObject().string("jwt")
        do {
            let asked = try TemporaryKeyRequest.Unverified(jwt: text)
            guard let application = self.application(ofKey: asked.applicationKey) else {
                throw Refusal.temporaryKey("the application key is unknown")
            }
            let device = try self.device(asking: asked, application, &context)
            let request = try asked.verified(
                applicationSecret: application.secret,
                transportKey: device?.keys.transport
            )
            var randomness = self.state.randomness
            let key = ServerTemporaryKey(
                id: randomness.identifier(),
                privateKey: try randomness.privateKey(),
                applicationKey: application.key,
                activationID: request.activationID,
                expires: context.now + self.limits.temporaryKeyLifetime.inMilliseconds
            )
            let response = TemporaryKeyResponse(
                keyID: key.id,
                publicKey: key.privateKey.publicKey,
                issuedAt: context.now,
                expiresAt: key.expires
            )
            let jwt = try response.jwt(signedBy: device?.serverKey ?? application.masterKey, answering: request)
            self.state.randomness = randomness
            self.keep(key, at: context.now)
            return .object(["jwt": .string(jwt)])
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as TemporaryKeyError {
            throw .temporaryKey("the request for a temporary key is refused: \(error)")
        } catch {
            throw .temporaryKey("the key cannot be made")
        }
    }

    /// The keys of the activation that asks; nil in application scope.
    private func device(
        asking request: TemporaryKeyRequest.Unverified,
        _ application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> DeviceBinding? {
        guard let id = request.activationID else { return nil }
        context.activationID = id
        guard let activation = self.state.activations[id], activation.applicationID == application.id,
            let device = activation.device
        else { throw .temporaryKey("there is no such activation") }
        guard activation.status != .removed else { throw .temporaryKey("the activation is REMOVED") }
        return device
    }

    private mutating func keep(_ key: ServerTemporaryKey, at now: Milliseconds) {
        if self.state.temporaryKeys.count >= Self.temporaryKeyCapacity || now >= self.state.nextTemporaryKeySweep {
            self.state.temporaryKeys.removeAll { $0.expires <= now }
            self.state.nextTemporaryKeySweep = now + 60_000
        }
        if self.state.temporaryKeys.count >= Self.temporaryKeyCapacity {
            self.state.temporaryKeys.keepFirst(Self.temporaryKeyCapacity / 2) { $0.expires > $1.expires }
        }
        self.state.temporaryKeys[key.id] = key
    }

    /// Beyond this, the keys that expire first make room.
    private static var temporaryKeyCapacity: Int { 20_000 }
}
