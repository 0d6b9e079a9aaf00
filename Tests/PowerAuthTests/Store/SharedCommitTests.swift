import CSQLite
import Glibc
import MobileTokenTesting
import PowerAuthCrypto
import TestSupport
import Testing

@testable import PowerAuth

/// Changes that are asked for at the same time, and the one commit that they share.
@Suite(.timeLimit(.minutes(4)))
struct SharedCommitTests {
    private struct Refusal: Error {}

    private let folder: TemporaryFolder
    private let path: String
    private let store: SQLiteActivationStore
    private static let ids = (0..<32).map { "a\($0)" }

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        RecordingVFS.record(self.path)
        var options = SQLiteActivationStore.Options()
        options.vfs = RecordingVFS.name
        self.store = SQLiteActivationStore(path: self.path, sealingKey: nil, options: options)
        for id in Self.ids { try await self.store.insert(ActivationStoreConformance.sparseRecord(id)) }
    }

    private var synchronizationCount: Int {
        RecordingVFS.events(of: self.path).count { if case .synchronize = $0 { true } else { false } }
    }

    /// Makes a change of every activation, the first of which keeps the store's thread until all others wait for it.
    private func changeAll(
        _ change: @escaping @Sendable (Int, inout ActivationRecord) throws -> Void = { _, record in record.takeMove() }
    ) async -> [Result<Void, any Error>] {
        let store = self.store
        let results = Shared<[Int: Result<Void, any Error>]>([:])
        await withTaskGroup(of: Void.self) { group in
            let isFirst = Shared(false)
            for (number, id) in Self.ids.enumerated() {
                group.addTask {
                    do {
                        try await store.update(id) { record in
                            if number == 0 {
                                isFirst.value = true
                                while store.waitingCallCount < Self.ids.count - 1 { sched_yield() }
                            }
                            try change(number, &record)
                        }
                        results.update { $0[number] = .success(()) }
                    } catch {
                        results.update { $0[number] = .failure(error) }
                    }
                }
                if number == 0 { await until { isFirst.value } }
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
        #expect(self.synchronizationCount - before == 2, "one commit for the first change, one for the 31 behind it")
        #expect(try await self.moves() == Array(repeating: 1, count: 32))
        let marks = try LeaseFile(path: self.path + "-lease")
        for (index, id) in Self.ids.enumerated() {
            #expect(marks.highWaterMark(of: Int64(index + 1), activationID: id) == 1)
        }
    }

    @Test func oneChangeHasACommitOfItsOwnInFourStatements() async throws {
        let (syncs, statements) = (self.synchronizationCount, await self.store.work.statements)
        try await self.store.update("a0") { $0.takeMove() }
        #expect(self.synchronizationCount - syncs == 1)
        #expect(await self.store.work.statements - statements == 4)
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
        #expect(self.synchronizationCount - before == 2)
        #expect(try await self.moves() == (0..<32).map { $0 % 3 == 1 ? 0 : 1 })
    }

    /// Several changes of one activation in one commit follow each other.
    @Test func changesOfOneActivationSeeEachOther() async throws {
        let store = self.store
        let isFirst = Shared(false)
        let moves = try await withThrowingTaskGroup(of: UInt64.self) { group in
            group.addTask {
                try await store.update("a0") { record in
                    isFirst.value = true
                    while store.waitingCallCount < 10 { sched_yield() }
                    return record.takeMove()
                }
            }
            await until { isFirst.value }
            for _ in 0..<10 { group.addTask { try await store.update("a0") { $0.takeMove() } } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(moves.sorted() == Array(0...10))
        #expect(try await store.record(of: "a0")?.history.moves == 11)
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

    /// It was 13 statements and two decryptions with a password.
    @Test func anApprovalReadsTheRecordOnce() async throws {
        let fixture = try Fixture(store: self.store)
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        try await activation.approve("first", with: .possessionAndKnowledge(unlocked: factor))

        var before = await self.store.work
        try await activation.approve("second", with: .possessionAndKnowledge(unlocked: factor))
        var after = await self.store.work
        #expect(after.statements - before.statements == 5)
        #expect(after.decryptions - before.decryptions == 1)

        before = after
        try await activation.approve("third", with: .possessionAndKnowledge(password: Fixture.password))
        after = await self.store.work
        #expect(after.statements - before.statements == 6)
        #expect(after.decryptions - before.decryptions == 2)
    }
}

extension RecordingVFS.Fault {
    /// What the caller of the store gets.
    fileprivate var code: MobileTokenError.Code {
        switch self {
        case .writing: .storeFull
        case .synchronizing: .storeUnreadable
        }
    }
}
