import Coordination
public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// Confirms a new activation of version 4, without which the server accepts nothing else.
    ///
    /// Activating does this by itself. When the network fails in between, the activation is stored nevertheless, and this method
    /// completes it. Does nothing when there is nothing to confirm.
    ///
    /// ```swift
    /// do {
    ///     activation = try await client.activate(code: code, password: password)
    /// } catch let error as MobileTokenError where error.code == .activationNotConfirmed {
    ///     let ids = try await client.activationIDs()
    ///     activation = try await client.activation(id: ids[ids.count - 1])
    ///     try await activation.confirm(password: password)
    /// }
    /// ```
    ///
    /// - Parameter password: The one that the activation was made with.
    public func confirm(password: SecretBytes) async throws {
        try await self.withSigningKeys(for: .possessionAndKnowledge(password: password)) { keys in
            guard keys.dialect.version == .v4_0 else { return }
            try await self.withSigningTurn { turn, caller in
                try await self.confirmActivation(with: keys, in: turn, for: caller)
            }
        }
    }

    private func confirmActivation(
        with keys: SigningKeys,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller
    ) async throws {
        guard let stored = try await self.storedRecord().version4, stored.pendingConfirmation == .activation else {
            return
        }
        let content = Version4.ActivationConfirmation(enableBiometry: stored.wrappedBiometryKey != nil)
        let request = SignedRequest(try DialectEndpoint(.activationConfirm, content), keys: keys, isConfirming: true)
        do {
            try await self.confirm(request, in: turn, for: caller) { !$0.flags.contains(.awaitsConfirmation) }
        } catch let refusal as RefusedConfirmation {
            throw refusal.error
        }
        try await self.updateRecord(in: turn) { $0.version4?.pendingConfirmation = nil }
    }

    /// Sends a confirmation until the server has it, three times at most.
    ///
    /// - Parameter isDone: Whether a status shows that the server has it.
    /// - Throws: ``RefusedConfirmation``, or whatever kept the server from being asked.
    func confirm(
        _ request: SignedRequest,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller,
        isDone: (ActivationStatus) -> Bool
    ) async throws {
        var isCertain = try await !self.storedRecord().isUnsettled
        var attempts = 0
        do {
            while true {
                // A response that was lost, now or before this process was started, may have been a success.
                if try await self.storedRecord().isUnsettled {
                    let compared = try await self.fetchStatus()
                    if isDone(compared.status) { return }
                    try await self.apply(compared, in: turn)
                }
                try caller.checkIsWaiting()
                do {
                    _ = try await self.attempt(request, try await request.body(), in: turn, settled: .notRequired)
                    return
                } catch let error as MobileTokenError where error.fate == .unknown && attempts < 2 {
                    isCertain = false
                    attempts += 1
                }
            }
        } catch let error as MobileTokenError where error.isRefusal {
            throw RefusedConfirmation(error: error, isCertain: isCertain)
        }
    }

    /// Changes the activation in the store, durably, within a turn.
    @discardableResult
    nonisolated func updateRecord<Result: Sendable>(
        in turn: SigningTurn,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await MobileTokenError.mapStoreErrors { try await turn.update(change) }
    }
}
