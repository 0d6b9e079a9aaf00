import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// An agent in a process of its own, which `kill -9` ends around the requests of its decisions, and its successors.
@Suite(.timeLimit(.minutes(5))) struct KilledAgentTests {
    /// Between intent and request, or between request and outcome.
    @Test(arguments: ["before", "after"]) func whatKilledProcessesLeaveIsDecidedOnce(dies: String) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
            let client = try emulator.makeClient { $0.store = store }
            var (ids, logins, payments): ([String], [String], [String]) = ([], [], [])
            for number in 0..<4 {
                let user = "user \(number)"
                ids.append(
                    try await emulator.makeActivation(user: user, password: password, client: client).activationID
                )
                for _ in 0..<3 { logins.append(try await emulator.cloud.createOperation("login", userID: user).id) }
                payments.append(try await emulator.cloud.createOperation("payment", userID: user).id)
            }

            func start(_ settings: String...) throws -> ChildProcess {
                try ChildProcess(
                    ChildProcess.besideTests("StoreExerciser"),
                    [
                        "action=agent", "store=\(folder.file("store.sqlite"))", "url=\(emulator.baseURL)",
                        "sdk-configuration=\(emulator.sdkConfiguration)", "password=\(password)",
                    ] + settings
                )
            }
            for survives in [0, 3, 1] {
                let outcome = await (try start("dies=\(dies)", "survives=\(survives)")).outcome()
                #expect(outcome.wasKilled, "\(outcome.output)\(outcome.errors)")
            }
            let last = try start()
            for id in logins { #expect(await emulator.decision(on: id)?.status == .approved) }
            for id in ids { try await until { try await store.openDecisions(of: id).isEmpty } }
            last.send(signal: 9)
            #expect(await last.outcome().wasKilled)

            for id in payments { #expect(try await emulator.cloud.operation(id).status == .pending) }
            var record = BankRecord()
            await record.read(emulator)
            #expect(record.decisionCounts == Dictionary(uniqueKeysWithValues: logins.map { ($0, 1) }))
            #expect(record.wrongSignatures == [] && record.reusedCounters == [])
            let audit = ReceiptAudit(try await client.allReceipts(), record)
            #expect(audit.problems == [])
            let resolved = dies == "before" ? "notFollowed" : "inferred"
            #expect(audit.results[resolved] ?? 0 >= 3, "\(audit.results)")
            await store.close()
        }
    }
}
