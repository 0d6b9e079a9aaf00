import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// Recovery codes: each activation comes with one for a replacement activation.
    enum Recovery {
        static let routes: [Backend.Route] = [
            .device(
                "POST /pa/v3/recovery/confirm",
                "Confirms a recovery code.",
                shows: .code,
                takes: .required(.envelope3),
                gives: .sealed3,
                Self.confirm
            )
        ]

        /// Decides whether a recovery code permits an activation, and counts a wrong PUK.
        static func grant(
            _ bank: inout Backend,
            _ identity: ActivationIdentity,
            _ application: ServerApplication
        ) throws(Refusal) -> ActivationGrant {
            guard bank.profile.hasRecovery else {
                throw .activation("there is no recovery\(bank.profile.releases { $0.hasRecovery })")
            }
            guard let code = identity.attributes["recoveryCode"], let puk = identity.attributes["puk"], !puk.isBlank,
                let recovery = bank.state.recoveryCodes[code], recovery.applicationID == application.id
            else { throw .activation("the recovery code is unknown") }
            guard recovery.status == .active else {
                throw .activation("the recovery code is \(recovery.status.rawValue)")
            }
            guard constantTimeEquals(Array(puk.utf8), Array(recovery.puk.utf8)) else {
                let failures = recovery.failures.addingSaturated(1)
                let isLast = failures >= RecoveryCode.maximumFailures
                bank.state.recoveryCodes.update(code) { recovery in
                    recovery.failures = failures
                    if isLast { recovery.status = .blocked }
                }
                guard !isLast else { throw .activation("the PUK is wrong, and the recovery code is blocked by it") }
                var refusal = Refusal.recovery("the PUK is wrong")
                refusal.details = ["currentRecoveryPukIndex": 1]
                throw refusal
            }
            return .replacement(by: recovery)
        }

        /// Creates a new activation's recovery code, if the server has recovery.
        static func issueCode(
            _ bank: inout Backend,
            for activation: ServerActivation
        ) throws(Refusal) -> RecoveryCode? {
            guard bank.profile.hasRecovery else { return nil }
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

        static func confirm(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            let demand = SignaturePolicy(
                uriID: "/pa/recovery/confirm",
                types: [.possessionKnowledge],
                version: .version3
            )
            let (request, envelope) = try bank.authenticateEncrypted(&context, purpose: .recoveryConfirm, demand)
            let code: String
            do throws(Refusal) { code = try envelope.json().string("recoveryCode") } catch {
                throw .authentication(error.reason)
            }
            guard let recovery = bank.state.recoveryCodes[code], recovery.userID == request.activation.userID,
                recovery.applicationID == request.application.id
            else { throw .authentication("the recovery code is unknown") }
            guard recovery.status == .created || recovery.status == .active else {
                throw .authentication("the recovery code is \(recovery.status.rawValue)")
            }
            bank.state.recoveryCodes.update(recovery.code) { $0.status = .active }
            let response: JSONValue = ["alreadyConfirmed": .bool(recovery.status == .active)]
            return .json(try bank.seal(response, in: envelope, &context))
        }
    }
}

extension Backend {
    /// Enables an activation's recovery codes after its commit.
    mutating func activateRecoveryCodes(of activationID: String) {
        for recovery in Array(self.state.recoveryCodes.values)
        where recovery.activationID == activationID && recovery.status == .created {
            self.state.recoveryCodes.update(recovery.code) { $0.status = .active }
        }
    }
}
