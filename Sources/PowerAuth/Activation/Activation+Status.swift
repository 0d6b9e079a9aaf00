import Coordination
import PowerAuthProtocol
import Synchronization

extension Activation {
    /// Asks the server for the activation's state, and brings the counter in step when it is not.
    ///
    /// When the client is more than half the window ahead, a signature is made so that the server catches up; the result
    /// still says what was found. What cannot be repaired is reported here and thrown by signatures; see
    /// ``ActivationStatus/CounterComparison``.
    public func status() async throws -> ActivationStatus {
        try self.checkNotRemoved()
        var status = try await self.fetchStatus().status
        if status.flags.contains(.upgradeAwaitsConfirmation) {
            do {
                try await self.completePendingUpgrade()
            } catch let error as MobileTokenError where error.isRefusal {
                // It goes on waiting, which the status says.
            }
            status = try await self.fetchStatus().status
        }
        self.record(status)
        guard status.asksForSignature else { return status }
        return try await self.withSigningTurn { turn, caller in
            // Signatures made while this one waited for its turn may have done it already.
            let compared = try await self.fetchStatusBeforeSigning()
            guard compared.status.asksForSignature else { return compared.status }
            try caller.checkIsWaiting()
            return try await self.letServerCatchUp(in: turn)?.status ?? compared.status
        }
    }

    /// Asks the server for the activation's state, and signs nothing, whatever the counters are like.
    package func unsignedStatus() async throws -> ActivationStatus {
        try self.checkNotRemoved()
        let status = try await self.fetchStatus().status
        self.record(status)
        return status
    }

    private func record(_ status: ActivationStatus) {
        if !status.counter.canSign { self.counterKnowledge.forget() }
        self.failedAttempts.learn(status.failedAttempts)
    }

    /// A status, and the counter as the comparison with it left it.
    struct ComparedStatus: Sendable {
        let status: ActivationStatus
        let counter: SigningCounter
        /// The counter's moves then.
        let moves: UInt64
        /// The major version of the protocol in which the server knows the activation.
        let serverVersion: UInt8
    }

    /// Makes one status request. Moves the counter forward when the server is ahead, which is safe at any time: the
    /// store compares with the counter as it then stands, and forward is the only direction.
    nonisolated func fetchStatus() async throws -> ComparedStatus {
        while true {
            let dialect = self.dialect
            do {
                return try await self.fetchStatus(in: dialect)
            } catch is OutdatedDialect {
            } catch let error as MobileTokenError where error.mayBeAboutAnotherVersion {
                guard let record = try? await self.storedRecord(), record.version != dialect.version else {
                    throw error
                }
            }
            // The activation was upgraded meanwhile, perhaps by another process.
            try await self.adopt(try await self.storedRecord())
        }
    }

    private nonisolated func fetchStatus(in dialect: any ActivationDialect) async throws -> ComparedStatus {
        let (report, comparison, ledger) = try await self.comparedReport(in: dialect)
        self.observer?.counterCompared(comparison, of: self.activationID)
        var status = ActivationStatus(
            state: report.state,
            failedAttempts: report.failedAttempts,
            maximumFailedAttempts: report.maximumFailedAttempts,
            counter: comparison,
            customObject: report.customObject
        )
        status.isUpgradeOffered = report.isUpgradeOffered
        status.flags = report.flags
        status.blockedUntil = report.blockedUntil
        return ComparedStatus(
            status: status,
            counter: ledger.counter,
            moves: ledger.history.moves,
            serverVersion: report.serverVersion
        )
    }

    /// Asks for the status, and compares its counter with this side's.
    ///
    /// A report says nothing of a counter that was signed with since it was made, such as by others while this process stood still:
    /// before it tells that the two are too far apart, the server is asked again.
    private nonisolated func comparedReport(
        in dialect: any ActivationDialect
    ) async throws -> (StatusReport, ActivationStatus.CounterComparison, CounterLedger) {
        while true {
            let moves = self.seenMoves.load(ordering: .relaxed)
            let report = try await self.report(in: dialect)
            let (comparison, ledger) = try await self.compareCounter(with: report.counter, in: dialect)
            self.seenMoves.store(ledger.history.moves, ordering: .relaxed)
            guard !comparison.canSign, ledger.history.moves != moves else { return (report, comparison, ledger) }
        }
    }

    /// Asks for the status in this dialect, and compares nothing.
    nonisolated func report(in dialect: any ActivationDialect) async throws -> StatusReport {
        let query = try dialect.statusQuery()
        return try await self.sendUnproven(query.request, in: dialect, isRepeatable: true).read(query.read)
    }

    private nonisolated func compareCounter(
        with server: ReportedCounter,
        in dialect: any ActivationDialect
    ) async throws -> (comparison: ActivationStatus.CounterComparison, ledger: CounterLedger) {
        let record = try await self.storedRecord()
        // The counter of one version says nothing about that of another.
        guard record.version == dialect.version else { throw OutdatedDialect() }
        let stored = record.ledger
        var ledger = stored
        let comparison = try MobileTokenError.mapCryptoErrors { try ledger.compare(with: server) }
        guard ledger != stored else { return (comparison, ledger) }
        // A signature may have moved the counter since it was read: compare again in the step that writes.
        return try await self.updateRecord { record in
            guard record.version == dialect.version else { throw OutdatedDialect() }
            let comparison = try MobileTokenError.mapCryptoErrors { try record.ledger.compare(with: server) }
            return (comparison, record.ledger)
        }
    }
}

extension MobileTokenError {
    /// Indicates whether the server may have the activation in another version of the protocol. Where it has no keys of this one any more,
    /// it sends random bytes, or refuses.
    fileprivate var mayBeAboutAnotherVersion: Bool {
        switch self.underlying as? ActivationStatusError {
        case .unsupportedVersion, .notABlob: true
        default: self.isRefusal
        }
    }
}

extension ActivationStatus {
    /// Indicates that a signature should be made so that the server catches up. A confirmation that it waits for does that as well, and is
    /// all that it takes.
    fileprivate var asksForSignature: Bool {
        self.state == .active && self.counter.result == .signatureRecommended
            && self.flags.isDisjoint(with: [.awaitsConfirmation, .upgradeAwaitsConfirmation])
    }
}
