import Foundation
import MobileTokenTesting
import PowerAuth
import Testing

/// Many processes on one store, and the deaths they die.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StoreProcessTests {
    private let folder: TemporaryFolder
    private let path: String
    private let journal: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store.sqlite")
        self.journal = self.folder.file("journal")
    }

    private var journalled: [UInt64] {
        String(decoding: contents(of: self.journal), as: UTF8.self).split(separator: "\n").compactMap { UInt64($0) }
    }

    @Test(arguments: [2, 4])
    func processesTakeEveryCounterValueOnce(processes: Int) async throws {
        let store = SQLiteActivationStore(path: self.path)
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        let each = 4_000 / processes
        try await withThrowingTaskGroup(of: ChildProcess.Outcome.self) { group in
            for _ in 0..<processes {
                group.addTask {
                    try await ChildProcess.run(
                        "action=take",
                        "store=\(self.path)",
                        "journal=\(self.journal)",
                        "count=\(each)",
                        "lease"
                    )
                }
            }
            for try await outcome in group { #expect(outcome.output.last == "done") }
        }
        // In the order of their use: the lease spans taking a value and writing it to the journal.
        #expect(self.journalled == Array(0..<4_000))
        #expect(try await store.record(of: "a")?.history.moves == 4_000)
    }

    @Test func noValueIsUsedTwiceHoweverOftenProcessesAreKilled() async throws {
        var expected = ActivationStoreConformance.record("a")
        do {
            let store = SQLiteActivationStore(path: self.path)
            try await store.insert(expected)
        }
        let killed = try await withThrowingTaskGroup(of: Int.self) { group in
            for lane in 0..<2 {
                group.addTask {
                    var killed = 0
                    for round in 0..<250 {
                        // Every second process dies while it opens the store, or soon after; the others within the
                        // changes that follow their first three.
                        let isEarly = round.isMultiple(of: 2)
                        let delay = (round * 2 + lane) * 7_919 % (isEarly ? 20_000 : 3_000)
                        let outcome = try await ChildProcess.run(
                            ["action=take", "store=\(self.path)", "journal=\(self.journal)", "die-after=\(delay)"]
                                + (isEarly ? [] : ["die-after-moves=3"])
                        )
                        #expect(outcome.output == [], "a process failed before it was killed")
                        if outcome.wasKilled { killed += 1 }
                    }
                    return killed
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(killed == 500)

        let used = self.journalled
        #expect(used.count >= 250 * 3)
        #expect(Set(used).count == used.count, "a counter value was used twice")
        let store = SQLiteActivationStore(path: self.path)
        let next = try await store.update("a") { $0.takeMove() }
        #expect(next > used.max() ?? 0)
        // At most one value for each death was taken and not used.
        #expect(next - 506 <= UInt64(used.count + killed))
        let record = try #require(try await store.record(of: "a"))
        while expected.history.moves < record.history.moves { expected.takeMove() }
        #expect(record == expected, "something else than the counter has changed")
    }

    @Test func aKilledHolderLosesTheLeaseAtOnce() async throws {
        let store = SQLiteActivationStore(path: self.path)
        try await store.insert(ActivationStoreConformance.record("a"))
        let outcome = try await ChildProcess.run(["action=hold", "store=\(self.path)"], killAtLine: "held")
        #expect(outcome.wasKilled)
        await (try store.acquireSigningLease(of: "a")).release()
    }

    @Test(arguments: ["000", "022", "777"])
    func modesDoNotDependOnTheUmask(umask: String) async throws {
        let path = self.folder.file("new/deeper/store.sqlite")
        let arguments = ["action=insert", "store=\(path)", "umask=\(umask)"]
        #expect(try await ChildProcess.run(arguments).output.last == "done")
        #expect(mode(of: self.folder.file("new")) == 0o700)
        #expect(mode(of: self.folder.file("new/deeper")) == 0o700)
        for suffix in ["", ".key", "-lease"] { #expect(mode(of: path + suffix) == 0o600) }
    }
}
