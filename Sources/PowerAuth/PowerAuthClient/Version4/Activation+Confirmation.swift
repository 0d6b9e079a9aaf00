import Coordination
public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// Confirms a new version 4 activation. Until then the server accepts nothing else.
    ///
    /// Activating includes this. If the network fails in between, the activation is stored unconfirmed, and this method completes
    /// it. Does nothing if no confirmation is pending.
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
    /// - Parameter password: The password of the activation.
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

    /// Returns whether a confirmation is pending, according to the store or the server.
    private func isConfirmationAwaited(_ stored: Version4Keys) async throws -> Bool {
        switch stored.pendingConfirmation {
        case .activation: true
        case .upgrade: false
        case nil: try await self.fetchStatus().status.flags.contains(.awaitsConfirmation)
        }
    }

    /// Sends a confirmation up to three times, until the encrypted status shows that the server has it. The response itself is
    /// not authenticated.
    ///
    /// - Parameter isDone: Returns `true` if a status shows that the server has the confirmation.
    /// - Throws: ``RefusedConfirmation``, or the error of a failed request.
    func confirm(
        _ request: SignedRequest,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller,
        isDone: (ComparedStatus) -> Bool
    ) async throws {
        var attempts = 0
        do {
            while true {
                // A code was made in this or an earlier process, perhaps this one.
                if try await self.storedRecord().isUnsettled {
                    let compared = try await self.fetchStatus()
                    if isDone(compared) { return }
                    // The confirmation itself lets the server catch up, however far the client is ahead.
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
                        settled: .compared
                    )
                    try Acknowledgement.check(response, of: request.path)
                } catch is Unsettled {
                    // The store was restored since, which makes it unsettled: another status follows.
                    guard attempts < 3 else { throw MobileTokenError.restoredSinceStatus }
                } catch let error as MobileTokenError where error.failureKind == .unknown && attempts < 3 {
                } catch let error as MobileTokenError where error.isRefusal {
                    // The confirmation may have succeeded before, or the refusal may be forged.
                    let (compared, refusal) = await self.status(explaining: error)
                    if let compared, isDone(compared) { return }
                    throw refusal.code == .authenticationFailed ? self.explained(refusal, by: compared) : refusal
                }
            }
        } catch let error as MobileTokenError where error.isRefusal {
            throw RefusedConfirmation(error: error)
        }
    }

    /// Durably changes the stored activation, within a turn.
    @discardableResult
    nonisolated func updateRecord<Result: Sendable>(
        in turn: SigningTurn,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await MobileTokenError.mapStoreErrors { try await turn.update(change) }
    }
}
