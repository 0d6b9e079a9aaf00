import CSQLite
import Glibc
import StoreTesting
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// Changes that are asked for at the same time, and the one commit that they share.
@Suite(.timeLimit(.minutes(5)))
struct SharedCommitTests {
    private struct Refusal: Error {}

    private let folder: TemporaryFolder
    private let path: String
    private let store: ActivationStore
    private static let ids = (0..<32).map { "a\($0)" }

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        RecordingVFS.record(self.path)
        var options = SQLiteOptions()
        options.vfs = RecordingVFS.name
        self.store = ActivationStore.sqlite(path: self.path, sealingKey: nil, options: options)
        for id in Self.ids { try await self.store.insert(ActivationStoreConformance.sparseRecord(id)) }
    }

    private var synchronizationCount: Int {
        RecordingVFS.events(of: self.path).count { if case .synchronize = $0 { true } else { false } }
    }

    /// Makes a change of every activation, while the store's thread is kept until all of them wait for it.
    private func changeAll(
        _ change: @escaping @Sendable (Int, inout ActivationRecord) throws -> Void = { _, record in record.takeMove() }
    ) async -> [Result<Void, any Error>] {
        let store = self.store
        let results = Shared<[Int: Result<Void, any Error>]>([:])
        await withTaskGroup(of: Void.self) { group in
            // Records that are remembered need not be loaded, so that the first call of each is its swap.
            for id in Self.ids { _ = try? await store.record(of: id) }
            group.addTask { try? await store.sqlite.hold(untilWaiting: Self.ids.count) }
            for (number, id) in Self.ids.enumerated() {
                group.addTask {
                    do {
                        try await store.update(id) { try change(number, &$0) }
                        results.update { $0[number] = .success(()) }
                    } catch {
                        results.update { $0[number] = .failure(error) }
                    }
                }
            }
        }
        return results.value.sorted { $0.key < $1.key }.map(\.value)
    }

    private func moves() async throws -> [UInt64?] {
        var moves: [UInt64?] = []
        for id in Self.ids { moves.append(try await self.store.record(of: id)?.history.moves) }
        return moves
    }

    @Test func manyChangesAtOnceShareOneCommit() async throws {
        let before = self.synchronizationCount
        let results = await self.changeAll()
        #expect(results.count == 32)
        for result in results { #expect(throws: Never.self) { try result.get() } }
        #expect(self.synchronizationCount - before == 1)
        #expect(try await self.moves() == Array(repeating: 1, count: 32))
        let marks = try LeaseFile(path: self.path + "-lease").marks
        for (index, id) in Self.ids.enumerated() {
            #expect(marks.moves(of: Int64(index + 1), activationID: id) == 1)
        }
    }

    /// Begin, tag and counter, commit: what this process left need not be read again.
    @Test func oneChangeHasACommitOfItsOwnInThreeStatements() async throws {
        try await self.store.update("a0") { $0.takeMove() }
        let (syncs, statements) = (self.synchronizationCount, try await self.store.work.statements)
        try await self.store.update("a0") { $0.takeMove() }
        #expect(self.synchronizationCount - syncs == 1)
        #expect(try await self.store.work.statements - statements == 3)
    }

    /// Begin, 31 outcomes, commit. Alone, an outcome is one statement.
    @Test func outcomesThatComeTogetherShareOneTransaction() async throws {
        let store = self.store
        for id in Self.ids {
            _ = try await store.update(id, recording: ActivationStoreConformance.intent(id, "1")) { $0.takeMove() }
        }
        let outcome = ActivationStoreConformance.outcome(.accepted)
        try await store.record(outcome, ofMove: 1, of: "a0")
        let before = try await store.work.statements
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await store.sqlite.hold(untilWaiting: 31) }
            for id in Self.ids.dropFirst() {
                group.addTask {
                    await #expect(throws: Never.self) { try await store.record(outcome, ofMove: 1, of: id) }
                }
            }
        }
        #expect(try await store.work.statements - before == 33)
        for id in Self.ids { #expect(try await store.openDecisions(of: id).isEmpty) }
        #expect(try await store.receiptEntries(after: 0, limit: 1_000).count == 64)
    }

    @Test func aChangeThatThrowsIsUndoneAlone() async throws {
        let before = self.synchronizationCount
        let results = await self.changeAll { number, record in
            record.takeMove()
            if number % 3 == 1 { throw Refusal() }
        }
        for (number, result) in results.enumerated() {
            if number % 3 == 1 {
                #expect(throws: Refusal.self) { try result.get() }
            } else {
                #expect(throws: Never.self) { try result.get() }
            }
        }
        #expect(self.synchronizationCount - before == 1)
        #expect(try await self.moves() == (0..<32).map { $0 % 3 == 1 ? 0 : 1 })
    }

    @Test(arguments: [RecordingVFS.Fault.writing(SQLITE_FULL), .synchronizing(SQLITE_IOERR | 4 << 8)])
    func everyCallerOfACommitThatFailsIsTold(fault: RecordingVFS.Fault) async throws {
        let path = self.path
        let results = await self.changeAll { number, record in
            record.takeMove()
            if number == 0 { RecordingVFS.setFault(fault, for: path) }
        }
        let codes = results.map { result in
            #expect(throws: MobileTokenError.self) { try result.get() }?.code
        }
        #expect(codes == Array(repeating: fault.code, count: 32))
        RecordingVFS.setFault(nil, for: self.path)
        #expect(try await self.moves() == Array(repeating: 0, count: 32))
        for result in await self.changeAll() { #expect(throws: Never.self) { try result.get() } }
        #expect(try await self.moves() == Array(repeating: 1, count: 32))
    }

    @Test func nothingIsSignedWhenTheCommitFails() async throws {
        let fixture = try Fixture(store: self.store)
        var activations: [Activation] = []
        for _ in 0..<4 { activations.append(try await fixture.activate()) }
        RecordingVFS.setFault(.writing(SQLITE_FULL), for: self.path)
        await withTaskGroup(of: MobileTokenError.Code?.self) { group in
            for activation in activations {
                group.addTask {
                    await #expect(throws: MobileTokenError.self) { try await activation.approve("x") }?.code
                }
            }
            for await code in group { #expect(code == .storeFull) }
        }
        #expect(fixture.server.requestCount("/api/signed") == 0)
        RecordingVFS.setFault(nil, for: self.path)
        for activation in activations { try await activation.approve("y") }
        #expect(fixture.server.state.value.accepted == ["y", "y", "y", "y"])
    }

    /// A password is compared with the stored key, which is read for it. Nothing else is read.
    @Test func aSignatureTakesThreeStatementsAndFourWithAPassword() async throws {
        let activation = try await Fixture(store: self.store).activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        try await activation.approve("first", with: .possessionAndKnowledge(unlocked: factor))

        var before = try await self.store.work
        try await activation.approve("second", with: .possessionAndKnowledge(unlocked: factor))
        var after = try await self.store.work
        #expect(after.statements - before.statements == 3)
        #expect(after.decryptions - before.decryptions == 1)

        before = after
        try await activation.approve("third", with: Fixture.twoFactors)
        after = try await self.store.work
        #expect(after.statements - before.statements == 4)
        #expect(after.decryptions - before.decryptions == 2)
    }
}

extension RecordingVFS.Fault {
    /// The error's code that the caller of the store gets.
    fileprivate var code: MobileTokenError.Code {
        switch self {
        case .writing: .storeFull
        case .synchronizing: .storeUnreadable
        }
    }
}

extension SQLiteDriver {
    /// Blocks the driver's thread until this many calls wait for it. It sleeps, because Dispatch replaces a thread only if it is blocked:
    /// two that spin would leave no thread on two cores for those who are to wait.
    fileprivate func hold(untilWaiting count: Int) { while self.waitingCallCount < count { usleep(200) } }
}
