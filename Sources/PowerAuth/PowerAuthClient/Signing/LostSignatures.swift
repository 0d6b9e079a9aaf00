import Coordination
import MobileTokenObserving
import PowerAuthProtocol

/// Limits for signatures that the server neither follows nor counts, for example because a proxy removes the header. Each one
/// moves the client a step ahead, and the server searches only 20 values. So automatic signing stops after ten, while both sides
/// can still meet.
enum LostSignatures {
    /// The number of consecutive lost signatures that stops signing.
    static let limit = 10
    /// The number of values in the server's window reserved for manual attempts.
    private static let reserve = 3

    /// - Throws: ``MobileTokenError/Code/signaturesAreLost``.
    static func check(_ status: ActivationStatus) throws(MobileTokenError) {
        guard status.lostSignatures >= self.limit else { return }
        throw MobileTokenError(
            .signaturesAreLost,
            """
            The server has seen none of the last \(status.lostSignatures) signatures; something on the way removes \
            X-PowerAuth-Authorization, or requests do not get through. Nothing was signed; 'counter --try' spends one more
            """
        )
    }

    /// Returns whether an agent may make another attempt automatically.
    static func mayTry(_ status: ActivationStatus) -> Bool {
        status.state == .active && status.counter.canSign
            && status.counter.distance + self.reserve < status.counter.window
    }

    /// The error for a possession signature that the server refused without counting or following it.
    static func notSeen(_ status: ActivationStatus) -> MobileTokenError {
        MobileTokenError(
            .remoteCommunicationFailed,
            """
            The server refused a signature that brings the counters in step, and its status shows neither a step nor a failure: \
            something on the way removes X-PowerAuth-Authorization, or the server behind cannot answer. Nothing was decided
            """
        )
    }
}

extension Activation {
    /// Makes a possession signature to find out whether signatures reach the server.
    @discardableResult
    package func trySignature() async throws -> ActivationStatus {
        try await self.tryCounter { _ in true }
    }

    /// Makes such a signature, unless none are lost or only the window's reserve is left.
    package func tryLostCounter() async throws -> ActivationStatus {
        try await self.tryCounter { $0.lostSignatures >= LostSignatures.limit && LostSignatures.mayTry($0) }
    }

    private func tryCounter(if isWanted: @escaping @Sendable (ActivationStatus) -> Bool) async throws
        -> ActivationStatus
    {
        try self.checkNotRemoved()
        return try await self.withSigningTurn { try await self.spendOne(in: $0, for: $1, if: isWanted) }
    }

    private func spendOne(
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller,
        if isWanted: @Sendable (ActivationStatus) -> Bool
    ) async throws -> ActivationStatus {
        let (compared, _) = try await self.fetchStatusBeforeSigning()
        guard isWanted(compared.status) else { return compared.status }
        try caller.checkIsWaiting()
        _ = try self.counterKnowledge.apply(compared.status.counter, counter: compared.counter)
        if let refused = try await self.letServerCatchUp(in: turn) { return refused.status }
        return try await self.fetchStatus().status
    }
}
