import APIDescriptions
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// An activation, for its device.
    enum ActivationEndpoints {
        static let routes: [Backend.Route] =
            [
                .device(
                    "POST /pa/v3/activation/status",
                    "Tells an activation's status.",
                    takes: .required(.activationStatusRequest),
                    gives: .activationStatusResponse,
                    Self.status
                ),
                .device(
                    "POST /pa/v3/activation/remove",
                    "Removes an activation.",
                    shows: .code,
                    takes: .ignored,
                    gives: .activationIDResponse,
                    Self.remove
                ),
            ]
            + ["DELETE", "GET", "HEAD", "POST", "PUT"].map { method in
                .device(
                    "\(method) /pa/v3/signature/validate",
                    "Verifies a signature.",
                    shows: .code,
                    takes: method == "POST" || method == "PUT" ? .ignored : nil,
                    gives: .done,
                    Self.validate
                )
            }

        static func status(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let request = try context.requestObject(bank.profile, missing: Refusal.activation)
            let challenge = try Self.challenge(in: request)
            let id = try request.string("activationId", bank.profile, missing: Refusal.activation)
            context.activationID = id
            let activation = bank.state.activations[id]
            var nonce = challenge.map { _ in bank.state.randomness.bytes(16) }
            let blob: [UInt8]
            if let activation, let keys = activation.device?.version3 {
                blob = try Self.statusBlob(bank, of: activation, keys, challenge: challenge, nonce: nonce)
            } else {
                // Without keys, a client cannot learn whether an activation exists. One that never had any reports its removal.
                blob = bank.state.randomness.bytes(32)
                if activation?.status == .removed { nonce = nil }
            }
            var response: JSONObject = [
                "activationId": .string(id), "encryptedStatusBlob": .string(Base64.encode(blob)),
            ]
            response["nonce"] = nonce.map { .string(Base64.encode($0)) }
            return .object(.object(response))
        }

        /// Returns the request's challenge; `nil` for an old client that sends none.
        private static func challenge(in request: JSONObject) throws(Refusal) -> [UInt8]? {
            guard let text = try request.optionalString("challenge") else { return nil }
            guard let challenge = Base64.decodeTolerantly(text), challenge.count == 16 else {
                throw .activation("'challenge' is not 16 bytes in Base64")
            }
            return challenge
        }

        private static func statusBlob(
            _ bank: Backend,
            of activation: ServerActivation,
            _ keys: Keys,
            challenge: [UInt8]?,
            nonce: [UInt8]?
        ) throws(Refusal) -> [UInt8] {
            do {
                let offersUpgrade = bank.offersUpgrade(to: activation.applicationID)
                let isUpgrading = activation.device?.version4 != nil
                let upgradeVersion = offersUpgrade || isUpgrading ? MajorVersion.version4 : .version3
                let blob = ActivationStatusBlob(
                    state: activation.status.state,
                    currentVersion: ActivationStatusBlob.version3,
                    upgradeVersion: UInt8(clamping: upgradeVersion.rawValue),
                    counterByte: keys.counter.byte,
                    failedAttempts: UInt8(clamping: activation.failedAttempts),
                    maxFailedAttempts: UInt8(clamping: activation.maximumFailedAttempts),
                    lookAhead: UInt8(clamping: bank.limits.lookAhead),
                    counterHash: try keys.counter.hash(transportKey: keys.derived.transport)
                )
                return try blob.encrypted(transportKey: keys.derived.transport, challenge: challenge, nonce: nonce)
            } catch {
                throw .activation("the status cannot be encrypted")
            }
        }

        static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            var demand = SignaturePolicy(version3: "/pa/activation/remove", types: .twoFactors)
            try demand.admitRemoval(bank, context)
            let id = try bank.authenticate(&context, demand).activation.id
            bank.remove(id, &context)
            return .object(["activationId": .string(id)])
        }

        static func validate(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let demand = SignaturePolicy(version3: "/pa/signature/validate", types: .onlineFactors)
            _ = try bank.authenticate(&context, demand)
            return .ok
        }
    }
}
