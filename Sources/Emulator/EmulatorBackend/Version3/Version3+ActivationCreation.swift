import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// The start of an activation: the key exchange and the device's proof.
    enum ActivationCreation {
        static let routes: [Backend.Route] = [
            .device(
                "POST /pa/v3/activation/create",
                adds: .contents,
                "Creates an activation.",
                takes: .required(.envelope3),
                gives: .sealed3,
                Refusal.asActivation(Self.create)
            )
        ]

        /// Exchanges keys with a device, in two nested envelopes: the application's outer one, and an inner one for a server
        /// behind it.
        private static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            let outer = try Self.openOuter(&bank, &context)
            let layer = try outer.json()
            try layer.refuseMembers(except: ActivationIdentity.members)
            let inner = try Self.openInner(&bank, of: layer, outer, &context)
            let request = try ActivationRequest(outer: layer, inner: inner.json())
            let grant = try Self.grant(&bank, of: request, outer.application, &context)
            let keys = try Self.keys(&bank, for: request.devicePublicKey, version: outer.version)

            // No refusal is possible from here on.
            let device = DeviceBinding.version3(keys)
            let activation = bank.begin(grant, device, request.description, outer.application, &context)
            let recovery = try Recovery.issueCode(&bank, for: activation)
            var content: JSONObject = [
                "activationId": .string(activation.id),
                "serverPublicKey": .string(Base64.encode(keys.serverKey.publicKey.uncompressed)),
                "ctrData": .string(Base64.encode(keys.counter.data)),
            ]
            content["activationRecovery"] = recovery.map { ["recoveryCode": .string($0.code), "puk": .string($0.puk)] }
            var response: JSONObject = ["activationData": try bank.seal(.object(content), in: inner, &context)]
            response["customAttributes"] = .object(request.customAttributes ?? [:])
            response["userInfo"] = bank.claims(about: activation, at: context.now)
            return .json(try bank.seal(.object(response), in: outer, isIndented: false, &context))
        }

        private static func openOuter(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> OpenedEnvelope {
            let addressee = try Addressee(opening: context, .application)
            guard let version = ProtocolVersion(rawValue: addressee.versionName), version.isVersion3 else {
                throw .activation("the envelope is of another version of the protocol")
            }
            guard let application = bank.application(ofKey: addressee.applicationKey) else {
                throw .activation(bank.objection(toApplicationKey: addressee.applicationKey))
            }
            let recipient = Recipient(
                version: version,
                application: application,
                activation: nil,
                purpose: .genericApplication
            )
            return try bank.open(ReceivedEnvelope(strictly: context.envelope()), recipient, &context)
        }

        private static func openInner(
            _ bank: inout Backend,
            of layer: JSONObject,
            _ outer: OpenedEnvelope,
            _ context: inout RequestContext
        ) throws(Refusal) -> OpenedEnvelope {
            guard let data = try layer.optionalObject("activationData") else {
                throw .invalidRequest("'activationData' is missing")
            }
            let recipient = Recipient(
                version: outer.version,
                application: outer.application,
                activation: nil,
                purpose: .activation
            )
            return try bank.open(ReceivedEnvelope(strictly: data), recipient, &context)
        }

        private static func grant(
            _ bank: inout Backend,
            of request: ActivationRequest,
            _ application: ServerApplication,
            _ context: inout RequestContext
        ) throws(Refusal) -> ActivationGrant {
            guard request.identity.kind == .recovery else {
                return try bank.grant(request.identity, otp: request.description.otp, application, &context)
            }
            try bank.requireRoomForActivation()
            return try Recovery.grant(&bank, request.identity, application)
        }

        /// Creates the server's half of the keys.
        private static func keys(
            _ bank: inout Backend,
            for devicePublicKey: P256PublicKey,
            version: ProtocolVersion
        ) throws(Refusal) -> Keys {
            var randomness = bank.state.randomness
            do {
                let keys = try Keys(
                    version: version,
                    serverKey: randomness.privateKey(),
                    deviceKey: devicePublicKey,
                    counter: randomness.secret(16)
                )
                bank.state.randomness = randomness
                return keys
            } catch {
                throw .activation("the keys do not fit")
            }
        }
    }

    /// The activation request of a device.
    private struct ActivationRequest {
        let identity: ActivationIdentity
        let customAttributes: JSONObject?
        let devicePublicKey: P256PublicKey
        let description: ServerActivation.Description

        init(outer: JSONObject, inner: JSONObject) throws(Refusal) {
            self.identity = try ActivationIdentity(outer)
            self.customAttributes = try outer.optionalObject("customAttributes")
            guard let point = Base64.decodeTolerantly(try inner.string("devicePublicKey")),
                let key = try? P256PublicKey(x963: point)
            else { throw .activation("the device's public key is not a point of the curve") }
            self.devicePublicKey = key
            self.description = try ServerActivation.Description(inner)
        }
    }
}
