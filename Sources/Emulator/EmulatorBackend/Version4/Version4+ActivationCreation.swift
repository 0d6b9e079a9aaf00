import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

extension Version4 {
    /// The start of an activation: the key exchange and the device's proof.
    enum ActivationCreation {
        static let routes: [Backend.Route] = [
            .device(
                "POST \(Endpoint.activationCreate.path)",
                adds: .contents,
                "Creates an activation.",
                takes: .required(.envelope4),
                gives: .sealed4,
                Refusal.asActivation(Self.create)
            )
        ]

        /// Exchanges keys with a device, in two nested envelopes with one temporary key.
        private static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            let (layer, outer, inner, application) = try Self.open(&bank, &context)
            let content = try inner.content()
            let identity = try ActivationIdentity(layer)
            let customAttributes = try layer.optionalObject("customAttributes")
            let description = try ServerActivation.Description(content)
            let request = try NewKeysRequest(content, refusing: Refusal.activation)
            guard bank.protocolRules.acceptsSuite(request.suite) else {
                throw .activation("the suite \(request.suite.rawValue) is not accepted")
            }
            let grant = try bank.grant(identity, otp: description.otp, application, &context)
            let (keys, message) = try request.agree(&bank, awaitsConfirmation: true, refusing: Refusal.activation)

            // No refusal is possible from here on.
            let activation = bank.begin(grant, .version4(keys), description, application, &context)
            var response: JSONObject = [
                "activationData": try inner.seal(
                    .encoding(ActivationResponseContent(activationID: activation.id, keys: message)),
                    &context
                )
            ]
            response["customAttributes"] = .object(customAttributes ?? [:])
            response["userInfo"] = bank.claims(about: activation, at: context.now)
            return .json(try outer.seal(.object(response), isIndented: false, &context))
        }

        /// Opens and consumes both layers.
        private static func open(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (JSONObject, outer: OpenedEnvelope, inner: OpenedEnvelope, ServerApplication) {
            let addressee = try Addressee(opening: context, .application)
            guard addressee.versionName.isExactly(Version4.name) else {
                throw .activation("the envelope is of another version of the protocol")
            }
            guard let application = bank.application(ofKey: addressee.applicationKey) else {
                throw .activation(bank.objection(toApplicationKey: addressee.applicationKey))
            }
            let forServer = Recipient(application: application, activation: nil, purpose: .genericApplication)
            let outer = try bank.open(context.envelope(), forServer, &context)
            bank.remember(outer, at: context.now)
            let layer = try outer.content()
            try layer.refuseMembers(except: ActivationIdentity.members)
            guard let data = try layer.optionalObject("activationData") else {
                throw .activation("'activationData' is missing")
            }
            let forServerBehind = Recipient(application: application, activation: nil, purpose: .activation)
            let inner = try bank.open(data, forServerBehind, &context)
            bank.remember(inner, at: context.now)
            guard inner.temporaryKeyID == outer.temporaryKeyID else {
                throw .activation("the two layers were encrypted with different keys")
            }
            return (layer, outer, inner, application)
        }
    }

    /// A request's part for version 4 keys, in an activation or an upgrade.
    struct NewKeysRequest {
        private let sharedSecretRequest: SharedSecretRequest
        private let deviceKeys: SigningPublicKeys

        var suite: AlgorithmSuite { self.sharedSecretRequest.suite }

        /// - Parameter refusal: Makes the endpoint's refusal from a reason.
        init(_ content: JSONObject, refusing refusal: (String) -> Refusal) throws(Refusal) {
            guard let request = content.message(SharedSecretRequest.self, named: "sharedSecretRequest") else {
                throw refusal("'sharedSecretRequest' is missing, or not of the form of its suite")
            }
            guard request.suite.isAvailable else { throw refusal("\(SuiteUnavailableError(suite: request.suite))") }
            guard let keys = content.message(SigningKeysMessage.self, named: "devicePublicKeys") else {
                throw refusal("'devicePublicKeys' is missing or of another form")
            }
            do {
                self.deviceKeys = try keys.keys(of: request.suite)
            } catch {
                throw refusal("the device's public keys are refused: \(error)")
            }
            self.sharedSecretRequest = request
        }

        /// Creates the server's half of the keys, and the device's response.
        func agree(
            _ bank: inout Backend,
            awaitsConfirmation: Bool,
            refusing refusal: (String) -> Refusal
        ) throws(Refusal) -> (keys: Keys, message: NewKeysMessage) {
            var randomness = bank.state.randomness
            do {
                let agreement = try self.sharedSecretRequest.agree(using: &randomness)
                let ecdsa = try randomness.p384PrivateKey()
                let serverKeys = try SigningPrivateKeys(
                    suite: self.suite,
                    ecdsa: ecdsa,
                    mldsaSeed: randomness.secret(32)
                )
                let counter = randomness.secret(HashCounter.byteCount)
                let keys = try Keys(
                    serverKeys: serverKeys,
                    deviceKeys: self.deviceKeys,
                    activationSecret: agreement.secret,
                    counter: counter,
                    awaitsConfirmation: awaitsConfirmation
                )
                bank.state.randomness = randomness
                let message = NewKeysMessage(
                    sharedSecretResponse: agreement.response,
                    serverPublicKeys: serverKeys.publicKeys,
                    counterData: counter
                )
                return (keys, message)
            } catch {
                throw refusal("the keys do not fit: \(error)")
            }
        }
    }
}

extension JSONValue {
    /// Creates the JSON of a protocol message, which has only strings, numbers and bytes.
    static func encoding(_ message: some Encodable) -> Self { (try? Self(encoding: message)) ?? [:] }
}
