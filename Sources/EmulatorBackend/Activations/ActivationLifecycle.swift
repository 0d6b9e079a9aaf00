import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

extension Backend {
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

    /// Changes an operation, and reports what it is then.
    mutating func update(
        _ id: String,
        _ context: inout RequestContext,
        _ change: (inout ServerOperation, Milliseconds) -> Void
    ) {
        let now = context.now
        self.state.operations.update(id) { change(&$0, now) }
        if let operation = self.state.operations[id] { context.report(operation) }
    }
}
