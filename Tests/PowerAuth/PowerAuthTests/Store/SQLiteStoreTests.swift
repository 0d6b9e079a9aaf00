import CSQLite
import Foundation
import StoreTesting
import Synchronization
import TestSupport
import Testing

@testable import PowerAuthClient

/// Two stores on one file compete as two processes do: through the operating system.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteStoreTests {
    private let folder: TemporaryFolder
    private let path: String
    private let one: ActivationStore
    private let other: ActivationStore

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        self.one = ActivationStore.sqlite(path: self.path)
        self.other = ActivationStore.sqlite(path: self.path)
        try await self.one.insert(ActivationStoreConformance.record("a"))
    }

    /// Returns when so many stores wait for the lease that another one holds.
    private func waitForWaiters(_ count: Int64 = 1) async throws {
        let file = try LeaseFile(path: self.path + "-lease")
        try await until { try file.nextTicket(of: 1) == count }
    }

    /// A backup is put back while a process waits at its prompt: what it signs, another process would sign again.
    @Test(arguments: ["", "-lease"]) func aStoreWhoseFileWasReplacedChangesNothing(suffix: String) async throws {
        let (file, files) = (self.path + suffix, FileManager.default)
        _ = try await self.other.record(of: "a")
        try files.moveItem(atPath: file, toPath: file + ".old")
        try files.copyItem(atPath: file + ".old", toPath: file)
        for _ in 0..<2 {
            await expectError(.storeReplaced) { try await self.other.update("a") { $0.takeMove() } }
        }
    }

    /// Without an order between them the one that asks at the right moment would be next.
    @Test func manyStoresGetTheLeaseInTheOrderTheyCame() async throws {
        let order = Order()
        let (first, _) = try await self.one.sqlite.acquireLease(of: "a")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                let store = ActivationStore.sqlite(path: self.path)
                try await store.open()
                group.addTask {
                    let (lease, _) = try await store.sqlite.acquireLease(of: "a")
                    order.append("\(number)")
                    lease.release()
                }
                try await self.waitForWaiters(Int64(number))
            }
            first.release()
            try await group.waitForAll()
        }
        #expect(order.all == (1...8).map { "\($0)" })
        #expect(try LeaseFile(path: self.path + "-lease").nextTicket(of: 1) == 0)
    }

    @Test func whoGivesUpOrGoesDoesNotHoldUpThoseBehind() async throws {
        let (lease, _) = try await self.one.sqlite.acquireLease(of: "a")
        let file = try LeaseFile(path: self.path + "-lease")
        var leaving: LeaseFile? = try LeaseFile(path: self.path + "-lease")
        #expect(try leaving?.tryTakeTicket(of: 1) == 0)
        let canceled = Task { [other] in try await other.sqlite.acquireLease(of: "a").0 }
        try await self.waitForWaiters(2)
        #expect(try file.tryTakeTicket(of: 1) == 2)
        #expect(try file.isTicketOut(before: 2, of: 1))
        await #expect(throws: CancellationError.self) { try await canceled.stop() }
        #expect(try file.isTicketOut(before: 2, of: 1))
        leaving = nil  // as when a process dies
        #expect(try !file.isTicketOut(before: 2, of: 1))
        file.returnTicket(2, of: 1)
        lease.release()
        try await self.other.withSigningTurn(of: "a") { _ in }
    }

    @Test func aWaitingStoreComesBeforeTheOneThatHasJustSigned() async throws {
        let order = Order()
        let (first, _) = try await self.one.sqlite.acquireLease(of: "a")
        let waiting = Task { [other] in
            let (lease, _) = try await other.sqlite.acquireLease(of: "a")
            order.append("other")
            lease.release()
        }
        try await self.waitForWaiters()
        first.release()
        // The other store is asleep until its next attempt, so this one would get the lease if it did not have to queue.
        let (again, _) = try await self.one.sqlite.acquireLease(of: "a")
        order.append("one")
        again.release()
        try await waiting.value
        #expect(order.all == ["other", "one"])
    }

    @Test func aLeaseOutlivesItsClosedStore() async throws {
        let (lease, _) = try await self.one.sqlite.acquireLease(of: "a")
        await self.one.close()
        let file = try LeaseFile(path: self.path + "-lease")
        #expect(try !file.tryLock(.holder, of: 1))
        lease.release()
        #expect(try file.tryLock(.holder, of: 1))
    }

    /// More stores wait for SQLite's lock than Swift has threads to run tasks on.
    @Test func aBlockedStoreBlocksNobodyElse() async throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(self.path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        let stores = (0..<16).map { _ in ActivationStore.sqlite(path: self.path) }
        for store in stores { try await store.open() }
        try #require(sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        let moves = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for store in stores { group.addTask { try await store.update("a") { $0.takeMove() } } }
            // None would run if the stores held the threads. Few, since the stores give up after ten seconds.
            for _ in 0..<10 { await Task.detached {}.value }
            try #require(sqlite3_exec(handle, "COMMIT", nil, nil, nil) == SQLITE_OK)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(moves.sorted() == Array(506..<522))
    }
}

private final class Order: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { self.names.withLock { $0 } }

    func append(_ name: String) { self.names.withLock { $0.append(name) } }
}
