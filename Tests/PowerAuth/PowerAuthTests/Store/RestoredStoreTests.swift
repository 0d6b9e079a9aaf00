import Foundation
import Glibc
import HTTPClientTransport
import StoreTesting
import TestSupport
import Testing

@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient

/// A database that was put back from a backup while the lease file stayed: the high-water mark in it tells which counter
/// values were used, offline too, where no server can.
@Suite(.timeLimit(.minutes(5)))
struct RestoredStoreTests {
    private let folder: TemporaryFolder
    private let path: String
    private let server: VerifyingServer
    private let activationID: String

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        self.server = try VerifyingServer()
        let store = ActivationStore.sqlite(path: self.path)
        self.activationID = try await Fixture(server: self.server, store: store).activate().activationID
        await store.close()
    }

    /// Runs `body` in what is, to the store, a process of its own.
    private func withActivation<Result>(_ body: (Activation) async throws -> Result) async throws -> Result {
        let store = ActivationStore.sqlite(path: self.path)
        let fixture = try Fixture(server: self.server, store: store)
        let result = try await body(try await fixture.client.activation(id: self.activationID))
        await store.close()
        return result
    }

    /// Signs the same each time, so that two signatures are equal exactly when their counter values are.
    private func signOffline(_ count: Int) async throws -> [String] {
        try await self.withActivation { activation in
            var signatures: [String] = []
            for _ in 0..<count {
                signatures.append(
                    try await activation.offlineSignature(
                        data: Array("operation&data".utf8),
                        nonce: Array(repeating: 7, count: 16),
                        uriID: "/operation/authorize/offline",
                        with: Fixture.twoFactors
                    )
                )
            }
            return signatures
        }
    }

    private func restore(_ backup: [UInt8]) throws {
        for suffix in ["-wal", "-shm"] { unlink(self.path + suffix) }
        try Data(backup).write(to: URL(fileURLWithPath: self.path))
        try #require(chmod(self.path, 0o600) == 0)
    }

    @Test func offlineSignaturesUseNoCounterValueAgain() async throws {
        var signatures = try await self.signOffline(2)
        let backup = contents(of: self.path)
        signatures += try await self.signOffline(3)
        try self.restore(backup)
        signatures += try await self.signOffline(3)
        #expect(Set(signatures).count == 8)
    }

    @Test func anOnlineSignatureUsesNoValueOfAnOfflineOneAgain() async throws {
        let start = try #require(self.server.device(self.activationID)?.counter)
        _ = try await self.signOffline(2)
        let backup = contents(of: self.path)
        _ = try await self.signOffline(2)
        try self.restore(backup)
        // The server saw none of them, so its status finds nothing wrong.
        try await self.withActivation { try await $0.approve("x") }
        #expect(self.server.state.value.accepted == ["x"])
        #expect(self.server.device(self.activationID)?.counter == start.advanced(by: 5))
    }

    /// The database is lost with all that statuses showed of a decision with a lost response.
    @Test func aDecisionThatWasOpenInTheBackupHasLostItsEvidence() async throws {
        self.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let intent = DecisionIntent(
            activationID: self.activationID,
            operationID: "a",
            verdict: .approve,
            factors: .possession,
            signed: "A1"
        )
        try await self.withActivation { _ = try? await $0.decide("a", intent) }
        self.server.setFate { _ in .delivered }
        let backup = contents(of: self.path)
        try await self.withActivation { activation in
            try await activation.approve("b")
            #expect(try await activation.openDecisions().map(\.result) == [.followed])
        }
        try self.restore(backup)
        try await self.withActivation { activation in
            try await activation.approve("c")
            let open = try #require(try await activation.openDecisions().first)
            #expect(open.result == .evidenceLost)
            #expect(try await activation.counter(at: open) == .reached)
        }
        #expect(self.server.state.value.accepted == ["a", "b", "c"])
    }

    /// Between a status and a restore that it does not know of, another process may have signed, of which nothing is left here.
    @Test func aStatusFromBeforeTheRestoreIsAskedForAgain() async throws {
        let driver = ScriptedDriver()
        let key = SecureRandom.secret(Sealing.keyByteCount)
        let store = ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { key }))
        let activation = try await Fixture(server: self.server, store: store).activate()
        let isBefore = Shared(true)
        self.server.setFate { request in
            if request.url.hasSuffix("/activation/status"), isBefore.take() { driver.epoch = 1 }
            return .delivered
        }
        let before = self.server.requestCount("/activation/status")
        let status = try await activation.status()
        #expect(self.server.requestCount("/activation/status") == before + 2)
        #expect(status.counter.canSign)
        #expect(try await store.record(of: activation.activationID)?.ledger.wasPutBack == false)
        _ = try await activation.status()
        #expect(self.server.requestCount("/activation/status") == before + 3)
    }

    @Test func aMarkThatIsTooFarAheadEndsAllSigning() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        let counter = try #require(try await store.record(of: self.activationID)?.counter)
        await store.close()
        let mark = CounterLedger.longestCatchUp + 1
        try LeaseFile(path: self.path + "-lease").marks.set(mark, of: 1, activationID: self.activationID)
        await expectError(.stateRolledBack) { try await self.signOffline(1) }
        try await self.withActivation { activation in
            await expectError(.stateRolledBack) { try await activation.approve("x") }
        }
        #expect(self.server.requestCount("/api/signed") == 0)
        let again = ActivationStore.sqlite(path: self.path)
        #expect(try await again.record(of: self.activationID)?.counter == counter)
    }

    @Test func theFarthestMarkThatCanBeMadeUpForIs() async throws {
        let mark = CounterLedger.longestCatchUp
        try LeaseFile(path: self.path + "-lease").marks.set(mark, of: 1, activationID: self.activationID)
        let store = ActivationStore.sqlite(path: self.path)
        #expect(try await store.record(of: self.activationID)?.history.moves == mark)
    }

    /// Another database may be put in place of this one, whose activations have the same slots.
    @Test func theMarkOfAnotherActivationSaysNothing() async throws {
        try LeaseFile(path: self.path + "-lease").marks.set(1_000, of: 1, activationID: "another")
        let store = ActivationStore.sqlite(path: self.path)
        let record = try #require(try await store.record(of: self.activationID))
        #expect(record.history.moves == 0)
        #expect(!record.isUnsettled)
    }

    // MARK: Limits

    private static let daily = ActivationStoreConformance.demand(9, window: .rolling(minutes: 24 * 60))

    /// The night's backup would double the day: what was charged since is lost with it.
    @Test func limitsAreClosedAfterARestoreUntilTheirWindowIsOver() async throws {
        let demand = Self.daily
        func decide(_ store: ActivationStore, after: TimeInterval = 0) async throws -> Bool {
            var intent = ActivationStoreConformance.intent(self.activationID, "1")
            intent.demands = [demand]
            let dated = intent.dated(Date() + after, serverDate: nil)
            do {
                try await store.update(self.activationID, recording: dated) { _ = $0.takeMove() }
                return true
            } catch let error as MobileTokenError where error.code == .limitReached {
                return false
            }
        }
        func withStore(_ body: (ActivationStore) async throws -> Void) async throws {
            let store = ActivationStore.sqlite(path: self.path)
            try await body(store)
            await store.close()
        }
        try await withStore { store async throws in #expect(try await decide(store)) }
        let backup = contents(of: self.path)
        try await withStore { store async throws in
            // A decision that charges nothing may be lost.
            try await store.update(
                self.activationID,
                recording: ActivationStoreConformance.intent(self.activationID, "1")
            ) {
                _ = $0.takeMove()
            }
        }
        try self.restore(backup)
        try await withStore { store async throws in #expect(try await decide(store)) }
        try self.restore(backup)
        try await withStore { store async throws in
            #expect(try await !decide(store))
            #expect(try await !decide(store, after: 3_600 * 23))
            #expect(try await store.limitUse([]).closure != nil)
        }
        // Also for a process that comes later, and whatever is decided without limits.
        try await withStore { store async throws in
            let other = ActivationStoreConformance.intent(self.activationID, "1")
            try await store.update(self.activationID, recording: other) { _ = $0.takeMove() }
            #expect(try await !decide(store))
            #expect(try await decide(store, after: 3_600 * 25))
            #expect(try await store.openLimits())
            #expect(try await decide(store))
        }
    }
}
