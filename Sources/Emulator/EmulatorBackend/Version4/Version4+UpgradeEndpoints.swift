import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

extension Version4 {
    /// The permanent upgrade of a version 3 activation to version 4, in two steps.
    enum UpgradeEndpoints {
        static let routes: [Backend.Route] = [
            .device(
                "POST \(Endpoint.upgradeStart.path)",
                adds: .contents,
                "Makes the keys of an upgrade.",
                shows: .code,
                takes: .required(.envelope4),
                gives: .sealed4,
                Self.start
            ),
            .version4(
                .upgradeConfirm,
                admission: .upgrade,
                "Makes an upgrade final.",
                takes: .ignored,
                Self.confirm
            ),
        ]

        /// Creates version 4 keys beside those of version 3. A repeated call replaces them.
        static func start(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let (activation, application, envelope) = try Self.receive(&bank, &context)
            guard bank.offersUpgrade(to: application.id) else {
                throw .upgrade("the upgrade is not offered to this application")
            }
            let content: JSONObject
            let enablesBiometry: Bool
            do throws(Refusal) {
                content = try envelope.content()
                enablesBiometry = try content.optionalBool("enableBiometry") ?? false
            } catch {
                throw .upgrade(error.reason)
            }
            let request = try NewKeysRequest(content, refusing: Refusal.upgrade)
            guard bank.protocolRules.acceptsSuite(request.suite) else {
                throw .upgrade("the suite \(request.suite.rawValue) is not accepted")
            }
            var (keys, message) = try request.agree(&bank, awaitsConfirmation: false, refusing: Refusal.upgrade)
            if enablesBiometry { keys.enableDerivedBiometry() }
            bank.state.activations.update(activation.id) { $0.beginUpgrade(to: keys) }
            context.report(activation)
            return .json(try envelope.seal(.encoding(message), &context))
        }

        /// Receives a version 3 code, and a version 4 envelope with its own header.
        private static func receive(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (ServerActivation, ServerApplication, OpenedEnvelope) {
            let demand = SignaturePolicy(
                uriID: "/pa/upgrade/start",
                types: [.possessionKnowledge],
                version: .version3,
                admission: .upgrade
            )
            do {
                _ = try bank.requestCode(of: &context)
            } catch {
                throw .upgrade(error.reason)
            }
            let cover = SignedPayload { bank, context in (try? Self.open(bank, &context))?.1.plaintext }
            let activation = try bank.authenticate(&context, demand, covering: cover).activation
            do throws(Refusal) {
                let (application, envelope) = try Self.open(bank, &context)
                guard activation.applicationID == application.id else {
                    throw .upgrade("the headers name different applications")
                }
                bank.remember(envelope, at: context.now)
                return (activation, application, envelope)
            } catch {
                throw error.status == 401 ? error : .upgrade(error.reason)
            }
        }

        private static func open(
            _ bank: Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (ServerApplication, OpenedEnvelope) {
            let addressee = try Addressee(context, .application)
            guard MajorVersion(name: addressee.versionName) == .version4 else {
                throw .authentication("the envelope is of version \(addressee.versionName)")
            }
            try context.checkEnvelope(of: addressee.versionName)
            guard let application = bank.application(ofKey: addressee.applicationKey) else {
                throw .upgrade(bank.objection(toApplicationKey: addressee.applicationKey))
            }
            let recipient = Recipient(application: application, activation: nil, purpose: .upgradeStart)
            return (application, try bank.open(context.json(), recipient, &context))
        }

        /// Handles the first code with the version 4 keys. It ends version 3's tokens and recovery codes.
        static func confirm(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            guard call.activation.device?.version == .version3 else { throw .upgrade("no upgrade waits") }
            let id = call.activation.id
            bank.state.activations.update(id) { $0.finishUpgrade() }
            bank.state.tokens.removeAll { $0.activationID == id && $0.version == .version3 }
            bank.state.recoveryCodes.removeAll { $0.activationID == id }
            if let upgraded = bank.state.activations[id] { context.report(upgraded) }
            return nil
        }
    }
}

extension Admission {
    fileprivate static let upgrade = Self(belongsToUpgrade: true)
}
