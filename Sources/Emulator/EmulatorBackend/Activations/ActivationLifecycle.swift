extension Backend {
    /// Removes activations that waited too long for a device or a commit, and ends temporary blocks.
    mutating func expireActivations(_ context: inout RequestContext) {
        guard let next = self.state.nextActivationExpiration, next <= context.now else { return }
        self.state.nextActivationExpiration = nil
        for activation in self.state.activations.newestFirst {
            guard let deadline = activation.deadline else { continue }
            if deadline > context.now {
                self.watch(deadline)
            } else if activation.blockExpires != nil {
                self.endBlock(of: activation, &context)
            } else {
                self.state.activations.update(activation.id) { $0.expire() }
                self.remove(activation.id, &context)
            }
        }
    }

    private mutating func endBlock(of activation: ServerActivation, _ context: inout RequestContext) {
        var activation = activation
        guard (try? activation.endTemporaryBlock()) != nil else { return }
        self.state.activations[activation.id] = activation
        if let deadline = activation.deadline { self.watch(deadline) }
        context.report(activation)
    }

    /// Schedules a check at an activation's deadline.
    mutating func watch(_ deadline: Milliseconds) {
        self.state.nextActivationExpiration = min(self.state.nextActivationExpiration ?? deadline, deadline)
    }

    /// Removes an activation and everything that depends on it.
    mutating func remove(_ activationID: String, _ context: inout RequestContext) {
        self.state.activations.update(activationID) { $0.remove() }
        self.state.tokens.removeAll { $0.activationID == activationID }
        let device = self.state.devices[activationID]
        self.state.devices[activationID] = nil
        guard let activation = self.state.activations[activationID] else { return }
        if let code = activation.offer?.code { self.state.offers[code] = nil }
        context.report(activation, lastDevice: device)
    }

    /// Changes an operation, and reports its new state.
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
