import APIDescriptions
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

extension Version4 {
    /// An activation, for its device.
    enum ActivationEndpoints {
        static let routes: [Backend.Route] =
            [
                .device(
                    "POST \(Endpoint.activationStatus.path)",
                    "Tells an activation's status.",
                    takes: .required(.envelope4),
                    gives: .sealed4,
                    Self.status
                ),
                .version4(.activationConfirm, admission: .unconfirmed, "Confirms an activation.", Self.confirm),
                .version4(
                    .activationRemove,
                    "Removes an activation.",
                    takes: .ignored,
                    gives: .activationIDResponse,
                    Self.remove
                ),
            ]
            + ["DELETE", "GET", "POST", "PUT"].map { method in
                .version4(
                    .validate,
                    method: method,
                    "Verifies a code.",
                    takes: method == "POST" || method == "PUT" ? .ignored : nil
                ) { (_, _, _) throws(Refusal) in nil }
            }

        static func status(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let demand = ApplicationEndpointPolicy(
                proof: .envelope(refusal: Refusal.activation),
                version: .version4,
                admission: .whateverTheState,
                members: []
            )
            let call = try bank.receive(&context, demand)
            guard let activation = call.activation, let keys = activation.device?.version4 else {
                throw .activation("there are no keys of version 4")
            }
            return try bank.respond(Self.status(bank, of: activation, keys), to: call, &context)
        }

        private static func status(
            _ bank: Backend,
            of activation: ServerActivation,
            _ keys: Keys
        ) throws(Refusal) -> JSONValue {
            do {
                let blob = ActivationStatusBlob(
                    state: activation.status.state,
                    currentVersion: UInt8(clamping: activation.device?.version.rawValue ?? 0),
                    upgradeVersion: Version4.major,
                    flags: activation.statusFlags(bank.protocolRules),
                    counterByte: keys.counter.byte,
                    failedAttempts: UInt8(clamping: activation.failedAttempts),
                    maxFailedAttempts: UInt8(clamping: activation.maximumFailedAttempts),
                    lookAhead: UInt8(clamping: bank.limits.lookAhead),
                    counterHash: try keys.counter.hash(key: keys.derived.utility.counterHash)
                )
                return .encoding(
                    ActivationStatusResponse(
                        activationStatus: try blob.bytes(key: keys.derived.utility.status),
                        customObject: nil,
                        timestampBlockExpire: activation.blockExpires
                    )
                )
            } catch {
                throw .activation("the status cannot be made")
            }
        }

        /// Handles an activation's first code. Before that, its device has no use for it.
        static func confirm(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            let enablesBiometry = try call.parameters().optionalBool("enableBiometry") ?? false
            guard call.keys.awaitsConfirmation else { throw .activation("the activation is confirmed already") }
            bank.updateKeys(of: call.activation.id, &context) { keys in
                keys.awaitsConfirmation = false
                if enablesBiometry { keys.enableDerivedBiometry() }
            }
            return nil
        }

        static func remove(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            bank.remove(call.activation.id, &context)
            return ["activationId": .string(call.activation.id)]
        }
    }
}

extension Admission {
    /// Every state of an activation with keys.
    fileprivate static let whateverTheState = Self(
        states: [.pendingCommit, .active, .blocked, .removed],
        belongsToUpgrade: true
    )

    /// Also activations that neither the server nor the device has confirmed.
    fileprivate static let unconfirmed = Self(includesUnconfirmed: true)
}

extension ServerActivation {
    /// Returns the status flags besides the state.
    func statusFlags(_ rules: EmulatorProtocolRules) -> ActivationStatusBlob.Flags {
        guard let device = self.device, let keys = device.version4 else { return [] }
        var flags: ActivationStatusBlob.Flags = []
        if keys.awaitsConfirmation { flags.insert(.awaitsConfirmation) }
        if device.version == .version3 { flags.insert(.upgradeAwaitsConfirmation) }
        if !rules.allowsSuite(keys.suite) { flags.insert(.suiteUnsupported) }
        if keys.factorKeys.biometry.isOn { flags.insert(.biometryIsOn) }
        return flags
    }
}

extension Backend {
    /// Returns the names of the status flags besides the state.
    package func statusFlags(of activation: ServerActivation) -> [String] {
        let flags = activation.statusFlags(self.protocolRules)
        let names: [(flag: ActivationStatusBlob.Flags, name: String)] = [
            (.awaitsConfirmation, "AWAITS_CONFIRMATION"), (.upgradeAwaitsConfirmation, "UPGRADE_AWAITS_CONFIRMATION"),
            (.suiteUnsupported, "SUITE_UNSUPPORTED"), (.biometryIsOn, "BIOMETRY_IS_ON"),
        ]
        return names.filter { flags.contains($0.flag) }.map(\.name)
    }

    /// Changes an activation's version 4 keys.
    mutating func updateKeys(
        of activationID: String,
        _ context: inout RequestContext,
        _ change: (inout Version4.Keys) -> Void
    ) {
        self.state.activations.update(activationID) { $0.updateVersion4Keys(change) }
        if let activation = self.state.activations[activationID] { context.report(activation) }
    }
}
