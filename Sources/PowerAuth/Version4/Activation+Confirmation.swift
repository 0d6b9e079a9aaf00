import Coordination
public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// Confirms a new activation of version 4, without which the server accepts nothing else.
    ///
    /// Activating does this by itself. When the network fails in between, the activation is stored nevertheless, and this method
    /// completes it. Does nothing when the server waits for no confirmation.
    ///
    /// ```swift
    /// do {
    ///     activation = try await client.activate(code: code, password: password)
    /// } catch let error as MobileTokenError where error.code == .activationNotConfirmed {
    ///     guard let id = error.activationID else { throw error }
    ///     activation = try await client.activation(id: id)
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
        guard let stored = try await self.storedRecord().version4, try await self.isConfirmationAwaited(stored) else {
            return
        }
        let content = Version4.ActivationConfirmation(enableBiometry: stored.wrappedBiometryKey != nil)
        let request = try SignedRequest(
            EndpointRequest(.activationConfirm, content),
            keys: keys,
            isConfirming: true
        )
        do {
            try await self.confirm(request, in: turn, for: caller) { !$0.status.flags.contains(.awaitsConfirmation) }
        } catch let refusal as RefusedConfirmation {
            throw refusal.error
        }
        try await self.updateRecord(in: turn) { $0.version4?.pendingConfirmation = nil }
    }

    /// Returns whether the activation waits for its confirmation, by the store's word or by the server's.
    private func isConfirmationAwaited(_ stored: Version4Keys) async throws -> Bool {
        switch stored.pendingConfirmation {
        case .activation: true
        case .upgrade: false
        case nil: try await self.fetchStatus().status.flags.contains(.awaitsConfirmation)
        }
    }

    /// Sends a confirmation until the server has it, three times at most.
    ///
    /// Only the status tells, for it is encrypted: anybody on the way could have written the answer, and kept the request.
    ///
    /// - Parameter isDone: Returns `true` if a status shows that the server has the confirmation.
    /// - Throws: ``RefusedConfirmation``, or whatever kept the server from being asked.
    func confirm(
        _ request: SignedRequest,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller,
        isDone: (ComparedStatus) -> Bool
    ) async throws {
        var attempts = 0
        do {
            while true {
                // A code was made, now or before this process was started: it may have been this one.
                if try await self.storedRecord().isUnsettled {
                    let compared = try await self.fetchStatus()
                    if isDone(compared) { return }
                    // However far this side is ahead, the confirmation itself lets the server catch up, which takes nothing else before it.
                    _ = try self.counterKnowledge.apply(compared.status.counter, counter: compared.counter)
                }
                guard attempts < 3 else {
                    throw MobileTokenError.invalidResponse("The response to \(request.path) contradicts the status")
                }
                attempts += 1
                try caller.checkIsWaiting()
                do {
                    let response = try await self.attempt(
                        request,
                        try await request.body(),
                        in: turn,
                        for: caller,
                        settled: .notRequired
                    )
                    try Acknowledgement.check(response, of: request.path)
                } catch let error as MobileTokenError where error.failureKind == .unknown && attempts < 3 {
                } catch let error as MobileTokenError where error.isRefusal {
                    // Of one that was done already, or somebody else's word.
                    if let compared = try? await self.fetchStatus(), isDone(compared) { return }
                    throw error
                }
            }
        } catch let error as MobileTokenError where error.isRefusal {
            throw RefusedConfirmation(error: error)
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
