import Coordination
import MobileTokenObserving
import PowerAuthProtocol
import Synchronization

extension Activation {
    /// Fetches the activation's status and resynchronizes the counter.
    ///
    /// If the client is more than half the window ahead, a signature is made so that the server catches up. The result still
    /// reports the state before it. A difference that cannot be repaired is reported here and thrown by signatures; see
    /// `CounterComparison`.
    public func status() async throws -> ActivationStatus {
        try self.checkNotRemoved()
        var status = try await self.fetchStatus().status
        if status.flags.contains(.upgradeAwaitsConfirmation) {
            do {
                try await self.completePendingUpgrade()
            } catch let error as MobileTokenError where error.isRefusal {
                // The status reports that the upgrade still waits.
            }
            status = try await self.fetchStatus().status
        }
        self.record(status)
        guard status.asksForSignature else { return status }
        return try await self.withSigningTurn { turn, caller in
            // Another signature may have done it while this call waited its turn.
            let (compared, _) = try await self.fetchStatusBeforeSigning()
            guard compared.status.asksForSignature else { return compared.status }
            try caller.checkIsWaiting()
            return try await self.letServerCatchUp(in: turn)?.status ?? compared.status
        }
    }

    /// Fetches the status without ever signing.
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

    struct ComparedStatus: Sendable {
        let status: ActivationStatus
        let counter: SigningCounter
        /// The number of counter moves after the comparison.
        let moves: UInt64
        /// The major protocol version in which the server knows the activation.
        let serverVersion: UInt8
    }

    /// Makes one status request, and moves the counter forward if the server is ahead. Moving forward is always safe: the store
    /// compares with the current counter.
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
        if comparison.canSign {
            status.lostSignatures = max(
                0,
                min(Int(ledger.unseenSignatures), comparison.distance) - report.failedAttempts
            )
        }
        return ComparedStatus(
            status: status,
            counter: ledger.counter,
            moves: ledger.history.moves,
            serverVersion: report.serverVersion
        )
    }

    /// Fetches the status and compares the counters. A report is outdated if other processes have signed since, for example while
    /// this one was suspended. So the server is asked again before the counters are reported as too far apart, and after it was found
    /// that the store was restored: what was signed between the report and the restore is in neither.
    private nonisolated func comparedReport(
        in dialect: any ActivationDialect
    ) async throws -> (StatusReport, CounterComparison, CounterLedger) {
        var knowsRestore = false
        while true {
            let moves = self.seenMoves.load(ordering: .relaxed)
            let report = try await self.report(in: dialect)
            do {
                let (comparison, ledger) = try await self.compareCounter(
                    with: report.counter,
                    in: dialect,
                    knowsRestore: knowsRestore
                )
                self.seenMoves.store(ledger.history.moves, ordering: .relaxed)
                guard !comparison.canSign, ledger.history.moves != moves else { return (report, comparison, ledger) }
            } catch is RestoredSince {
                knowsRestore = true
            }
        }
    }

    /// Fetches the status in this dialect, without comparing counters.
    nonisolated func report(in dialect: any ActivationDialect) async throws -> StatusReport {
        let query = try dialect.statusQuery()
        return try await self.sendUnproven(query.request, in: dialect, isRepeatable: true).read(query.read)
    }

    /// - Parameter knowsRestore: `true` if the report was asked for after it was found that the store was restored.
    /// - Throws: ``RestoredSince``, among others.
    private nonisolated func compareCounter(
        with server: ReportedCounter,
        in dialect: any ActivationDialect,
        knowsRestore: Bool
    ) async throws -> (comparison: CounterComparison, ledger: CounterLedger) {
        @Sendable func check(_ record: ActivationRecord) throws {
            // The counters of different protocol versions are not comparable.
            guard record.version == dialect.version else { throw OutdatedDialect() }
            guard knowsRestore || !record.ledger.wasPutBack else { throw RestoredSince() }
        }
        let record = try await self.storedRecord()
        try check(record)
        let stored = record.ledger
        var ledger = stored
        let comparison = try MobileTokenError.mapCryptoErrors { try ledger.compare(with: server) }
        guard ledger != stored else { return (comparison, ledger) }
        // Only a restore puts a counter behind the server's. Noted first, because the change removes what shows it.
        if case .movedForward = comparison.result {
            try await MobileTokenError.mapStoreErrors { try await self.server.store.noteRestore(of: self.activationID) }
        }
        // A signature may have moved the counter since the read, so the transaction compares again.
        return try await self.updateRecord { record in
            try check(record)
            let comparison = try MobileTokenError.mapCryptoErrors { try record.ledger.compare(with: server) }
            return (comparison, record.ledger)
        }
    }
}

/// The store was found to be restored after the status was asked for.
private struct RestoredSince: Error {}

extension MobileTokenError {
    /// Indicates whether the server may have the activation in another protocol version. Without keys of this version, the server
    /// sends random bytes or refuses.
    fileprivate var mayBeAboutAnotherVersion: Bool {
        switch self.underlying as? ActivationStatusError {
        case .unsupportedVersion, .notABlob: true
        default: self.serverCode != nil
        }
    }
}

extension ActivationStatus {
    /// Indicates that a signature should be made so that the server catches up. A pending confirmation does the same.
    fileprivate var asksForSignature: Bool {
        self.state == .active && self.counter.result == .signatureRecommended
            && self.flags.isDisjoint(with: [.awaitsConfirmation, .upgradeAwaitsConfirmation])
            && self.lostSignatures < LostSignatures.limit
    }
}
