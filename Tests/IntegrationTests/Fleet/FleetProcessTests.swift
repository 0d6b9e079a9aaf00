import Glibc
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import TestSupport

/// Processes that share the activations of one SQLite store, and what becomes of a dead one's.
@Suite(.timeLimit(.minutes(5))) struct FleetProcessTests {
    @Test func processesShareAStoreAndTheSurvivorTakesOver() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
            let client = try emulator.makeClient { $0.store = store }
            var ids: Set<String> = []
            for number in 0..<12 {
                let user = "user \(number)"
                ids.insert(
                    try await emulator.makeActivation(user: user, password: password, client: client).activationID
                )
            }
            await store.close()

            func start() throws -> ChildProcess {
                try ChildProcess(
                    ChildProcess.besideTests("StoreExerciser"),
                    [
                        "action=poll", "store=\(folder.file("store.sqlite"))", "url=\(emulator.baseURL)",
                        "sdk-configuration=\(emulator.sdkConfiguration)",
                    ]
                )
            }
            var events = emulator.events().makeAsyncIterator()
            let first = try start()
            #expect(await first.nextLine() == "polling")
            let second = try start()
            #expect(await second.nextLine() == "polling")
            while await Self.polls(of: emulator).keys.count < 2, await events.next() != nil {}

            first.send(signal: SIGKILL)
            #expect(await first.outcome().wasKilled)
            let position = await emulator.journalPosition
            while await !Self.polls(of: emulator, since: position).values.contains(ids), await events.next() != nil {}
            #expect(await emulator.refusals() == [])
            second.send(signal: SIGKILL)
            #expect(await second.outcome().wasKilled)
        }
    }

    /// The activations that each process has polled.
    private static func polls(of emulator: Emulator, since position: UInt64 = 0) async -> [String: Set<String>] {
        var polls: [String: Set<String>] = [:]
        for entry in await emulator.requests(to: "**/operation/list", since: position) {
            guard let process = entry.headers.first(where: { $0.name.lowercased() == "user-agent" })?.value,
                let id = entry.activationID
            else { continue }
            polls[process, default: []].insert(id)
        }
        return polls
    }
}
