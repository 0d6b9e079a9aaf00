import ApprovalTesting
import ExactJSON
import Foundation
import MobileToken
import MobileTokenApprovals
import MobileTokenPostgres
import MobileTokenTesting
import PostgresDatabase
import PostgresTestServer
import StoreTesting
import TestSupport
import Testing

/// The commands that look after the database, as a person calls them.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct StoreCommandTests {
    private func run(
        _ words: [String],
        _ nodes: PostgresStoreFixture,
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        try await self.start(words, nodes, environment: environment).outcome()
    }

    private func start(
        _ words: [String],
        _ nodes: PostgresStoreFixture,
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let isLocal = words.contains("--file") || words.contains("--profile")
        let options =
            isLocal
            ? []
            : [
                "--database", nodes.server.connectionString(), "--schema", nodes.schema, "--no-tls",
                "--marks", nodes.folder.path + "/marks",
            ]
        return try ChildProcess(
            ChildProcess.besideTests("mobile-token-postgres"),
            words + options,
            environment: ["MOBILE_TOKEN_SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": nodes.folder.path]
                .merging(environment) { $1 }
        )
    }

    @Test func activationsMoveFromAFileAndLeaveIt() async throws {
        try await withNodes { nodes in
            let path = nodes.folder.path + "/file/activations.sqlite"
            let file = ActivationStore.sqlite(path: path)
            for id in ["a", "b"] { try await file.insert(ActivationStoreConformance.record(id)) }
            await file.close()

            for count in [2, 0] {
                let outcome = try await self.run(["store", "copy", path], nodes)
                #expect(outcome.output == "Moved \(count) activations.\n")
                #expect(outcome.exitCode == 0, "\(outcome.errors)")
            }
            let again = ActivationStore.sqlite(path: path)
            #expect(try await again.activationIDs() == [])
            await again.close()
            let store = nodes.node()
            for id in ["a", "b"] {
                #expect(try await store.record(of: id) == ActivationStoreConformance.record(id))
            }
            let check = try await self.run(["store", "check"], nodes)
            #expect(
                check.lines == ["ACTIVATION  MOVES  FINDING", "a           506    good", "b           506    good"]
            )
            #expect(check.exitCode == 0)
        }
    }

    /// The one move that was interrupted between its two halves.
    @Test func anInterruptedMoveIsFinishedAndAnotherStateIsRefused() async throws {
        try await withNodes { nodes in
            let (store, source) = (nodes.node(), ActivationStore.inMemory())
            for id in ["a", "b"] {
                try await source.insert(ActivationStoreConformance.record(id))
                try await store.insert(ActivationStoreConformance.record(id))
            }
            try await store.move("a", from: source)
            #expect(try await source.activationIDs() == ["b"])
            try await store.update("b") { _ = $0.takeMove() }
            let error = await #expect(throws: MobileTokenError.self) { try await store.move("b", from: source) }
            #expect(error?.code == .activationAlreadyStored)
            #expect(try await source.activationIDs() == ["b"])
        }
    }

    @Test(arguments: [true, false]) func anActivationThatIsFarBehindSignsAgain(isInFile: Bool) async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let path = nodes.folder.path + "/file/activations.sqlite"
                let store: ActivationStore = isInFile ? ActivationStore.sqlite(path: path) : nodes.node()
                let client = try emulator.makeClient { $0.store = store }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234", client: client)
                let factors = Activation.Authentication.possessionAndKnowledge(password: "1234")
                try await emulator.advanceCounter(ofActivation: activation.activationID, by: 1_000)
                let error = await #expect(throws: MobileTokenError.self) { try await activation.validate(factors) }
                #expect(error?.code == .stateRolledBack)

                let words = [
                    "store", "recover", activation.activationID, "--url", emulator.baseURL,
                    "--sdk-configuration", emulator.sdkConfiguration,
                ]
                let place = isInFile ? ["--file", path] : []
                let short = try await self.run(words + ["--search", "999"] + place, nodes)
                #expect(short.exitCode == 1)
                #expect(short.output == "")
                let recovered = try await self.run(words + place, nodes)
                #expect(recovered.output.hasPrefix("Passed over 1"), "\(recovered.errors)")
                #expect(recovered.exitCode == 0)
                try await activation.validate(factors)
                #expect(try await self.run(words + place, nodes).output == "The counter is in step.\n")
            }
        }
    }

    /// Killed at its second batch of a ledger: every question opens with both keys, and the second call does the rest.
    @Test func aResealOfALedgerThatIsKilledIsFinishedByTheNext() async throws {
        try await withNodes { nodes in
            func ledger(_ current: UInt8, _ earlier: UInt8?) -> ApprovalLedger {
                var configuration = PostgresConfiguration(
                    connectionString: nodes.server.connectionString(),
                    sealingKeys: SealingKeyRing(
                        current: PostgresStoreFixture.key(current),
                        earlier: earlier.map { [PostgresStoreFixture.key($0)] } ?? []
                    )
                )
                (configuration.tls, configuration.schema) = (.disabled, nodes.schema)
                return .postgres(configuration)
            }
            let bench = try await Bench(ledger: ledger(8, nil)) {
                $0.limits.questionInterval = .zero
                $0.limits.openQuestions = 1_000
                $0.limits.requestsPerSecond = 10_000
            }
            bench.server.with { $0.script = [:] }
            for number in 1...230 { _ = try await bench.desk.ask(Bench.request("question-\(number)")) }
            let connection = try nodes.connect()
            try connection.run("SELECT pg_advisory_lock(4711)")
            try connection.run(
                """
                CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.key = (SELECT key FROM question ORDER BY key OFFSET 150 LIMIT 1) THEN
                        PERFORM pg_advisory_lock(4711);
                    END IF;
                    RETURN NEW;
                END $$
                """
            )
            try connection.run("CREATE TRIGGER stop BEFORE UPDATE ON question FOR EACH ROW EXECUTE FUNCTION stop()")
            // Base64 of 32 bytes of 8, the earlier key.
            let words = ["store", "reseal", "--earlier-sealing-key", "env:EARLIER"]
            let environment = ["EARLIER": "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="]
            let process = try self.start(words, nodes, environment: environment)
            try await until {
                try connection.run(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted"
                )
                .first?.integer(0) == 1
            }
            process.send(signal: SIGKILL)
            _ = await process.outcome()
            try connection.run("SELECT pg_advisory_unlock(4711)")
            try connection.run("DROP TRIGGER stop ON question")
            for ring in [(UInt8(7), UInt8(8)), (8, 7)] {
                let desk = try await Bench.desk(ledger(ring.0, ring.1), bench.server)
                #expect(try await desk.tickets().count == 230)
                #expect(desk.health.unreadable == 0)
            }
            // A part of them is sealed with each key.
            let half = try await Bench.desk(ledger(7, nil), bench.server)
            #expect((1..<230).contains(try await half.tickets().count))

            let again = try await self.run(words, nodes, environment: environment)
            #expect(again.exitCode == 0, "\(again.errors)")
            let desk = try await Bench.desk(ledger(7, nil), bench.server)
            #expect(try await desk.tickets().count == 230)
            await #expect(throws: ApprovalError.self) { try await Bench.desk(ledger(8, nil), bench.server) }
        }
    }

    @Test func aProfileKnowsWhatIsRecovered() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let home = nodes.folder.path + "/home"
                let store = ActivationStore.sqlite(
                    path: home + "/bank/activations.sqlite",
                    sealingKey: .file(nodes.folder.path + "/key")
                )
                let client = try emulator.makeClient { $0.store = store }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234", client: client)
                let profile: JSONValue = [
                    "url": .string(emulator.baseURL), "sdkConfiguration": .string(emulator.sdkConfiguration),
                    "activationID": .string(activation.activationID),
                    "sealingKey": .string("file:\(nodes.folder.path)/key"),
                ]
                try Data(profile.serialized()).write(to: URL(filePath: home + "/bank/profile.json"))
                try await emulator.advanceCounter(ofActivation: activation.activationID, by: 1_000)

                let words = ["store", "recover", "--profile", "bank", "--home", home]
                let recovered = try await self.run(words, nodes)
                #expect(recovered.output.hasPrefix("Passed over 1"), "\(recovered.errors)")
                #expect(recovered.errors.contains("--open-limits opens them"))
                #expect(
                    try await self.run(words + ["--open-limits"], nodes).errors.contains(
                        "The limits of agents are open."
                    )
                )
                #expect(try await self.run(words, nodes).errors.isEmpty)
                #expect(try await self.run(words + ["--all"], nodes).exitCode == 0)
                let figures = try await self.run(["store", "receipts"] + words.dropFirst(2), nodes)
                #expect(figures.exitCode == 0, "\(figures.errors)")
                #expect(try await self.run(words.map { $0 == "bank" ? "none" : $0 }, nodes).exitCode == 4)
            }
        }
    }

    @Test(arguments: [
        (
            ["--profile", "bank", "--sealing-key", "env:KEY"],
            "--sealing-key is not for a store on this machine, whose key is"
        ),
        (["--file", "/dev/null", "--no-tls"], "--no-tls is not for a store on this machine"),
        (["--file", "/dev/null", "--profile", "bank"], "--file and --profile exclude each other"),
        (["--database", "x", "--file-sealing-key", "env:KEY"], "--file-sealing-key is not for the database"),
        (["--file", "/nowhere/activations.sqlite"], "there is no store /nowhere/activations.sqlite"),
        (["--profile", "empty"], "there is no store"),
        (["--profile", "bank", "--url", "https://host"], "--url is what --profile knows"),
    ])
    func anOptionThatIsOfNoUseIsRefused(words: [String], reason: String) async throws {
        let home = try TemporaryFolder()
        for name in ["bank", "empty"] {
            try FileManager.default.createDirectory(atPath: home.file(name), withIntermediateDirectories: false)
            try Data(#"{"url":"https://host","sdkConfiguration":"x"}"#.utf8)
                .write(to: URL(filePath: home.file(name + "/profile.json")))
        }
        try Data().write(to: URL(filePath: home.file("bank/activations.sqlite")))
        let outcome = try await ChildProcess.run(
            ChildProcess.besideTests("mobile-token-postgres"),
            ["store", "recover", "--all"] + words,
            environment: ["MOBILE_TOKEN_HOME": home.path]
        )
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.contains(reason), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: home.file("empty/activations.sqlite")))
    }

    @Test func allActivationsAreRecoveredAtOnce() async throws {
        try await withEmulator { emulator in
            try await withNodes { nodes in
                let store = nodes.node()
                let client = try emulator.makeClient { $0.store = store }
                var ids: [String] = []
                for user in ["alice", "bob", "carol"] {
                    ids.append(
                        try await emulator.makeActivation(user: user, password: "1234", client: client).activationID
                    )
                }
                try await emulator.advanceCounter(ofActivation: ids[0], by: 500)
                // Farther than is searched.
                try await emulator.advanceCounter(ofActivation: ids[1], by: 2_000)
                let words = [
                    "store", "recover", "--all", "--search", "1000", "--url", emulator.baseURL,
                    "--sdk-configuration", emulator.sdkConfiguration,
                ]
                let outcome = try await self.run(words, nodes)
                #expect(outcome.exitCode == 1, "\(outcome.errors)")
                #expect(outcome.lines.count == 4)
                for (line, finding) in zip(outcome.lines.dropFirst(), ["Passed over 5", "stateRolledBack", "in step"]) {
                    #expect(line.contains(finding), "\(line)")
                }
                for id in [ids[0], ids[2]] {
                    let activation = try await client.activation(id: id)
                    try await activation.validate(.possessionAndKnowledge(password: "1234"))
                }
                let rest = try await self.run(words.map { $0 == "1000" ? "3000" : $0 } + ["--json"], nodes)
                #expect(rest.exitCode == 0, "\(rest.errors)")
                #expect(try await self.run(words.map { $0 == "--all" ? "--json" : $0 }, nodes).exitCode == 2)
            }
        }
    }

    @Test(arguments: [true, false]) func receiptsThatWereExportedAreDeleted(isInFile: Bool) async throws {
        try await withNodes { nodes in
            let path = nodes.folder.path + "/file/activations.sqlite"
            let store: ActivationStore = isInFile ? ActivationStore.sqlite(path: path) : nodes.node()
            let place = isInFile ? ["--file", path] : []
            try await store.insert(ActivationStoreConformance.record("a"))
            try await store.decide(1...3)
            let before = try await self.run(["store", "receipts"] + place, nodes)
            #expect(before.lines.prefix(2) == ["Entries since the last export: 6", "Last export: never"])
            let folder = nodes.folder.path + "/archive"
            let early = try await self.run(["store", "prune", folder] + place, nodes)
            #expect(early.exitCode == 5)
            #expect(early.errors.contains("There is no folder \(folder)"))
            try await ReceiptArchive(folder: folder).export(from: store)
            let figures = try await self.run(["store", "receipts", "--json"] + place, nodes)
            #expect(figures.output.hasPrefix(#"{"unexported":0,"lastExport":"20"#), "\(figures.output)")
            for count in [4, 0] {
                let outcome = try await self.run(["store", "prune", folder, "--older-than", "30"] + place, nodes)
                #expect(outcome.output == "Deleted \(count) entries of the receipts.\n", "\(outcome.errors)")
            }
        }
    }

    @Test func theStoreMovesFromOneKeyToAnother() async throws {
        try await withNodes { nodes in
            try await nodes.node().insert(ActivationStoreConformance.record("a"))
            let variables = ["NEW": "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=", "PATH": "/usr/bin:/bin"]
            let place = "command:printenv NEW"
            // A key that comes alone is not proved to be anybody's.
            let alone = try await self.run(["store", "reseal", "--sealing-key", place], nodes, environment: variables)
            #expect(alone.errors.contains("storeWrongSealingKey"))
            #expect(alone.errors.hasSuffix("; see --sealing-key and --earlier-sealing-key\n"), "\(alone.errors)")
            #expect(alone.exitCode == 78)
            let reseal = ["store", "reseal", "--earlier-sealing-key", "env:MOBILE_TOKEN_SEALING_KEY"]
            for count in [1, 0] {
                let outcome = try await self.run(
                    reseal + ["--sealing-key", place, "--json"],
                    nodes,
                    environment: variables
                )
                #expect(outcome.output == #"{"retiredKeys":\#(count)}"# + "\n", "\(outcome.errors)")
            }
            let old = try await self.run(["store", "check"], nodes)
            #expect(old.errors.contains("storeWrongSealingKey"))
            let new = try await self.run(
                ["store", "check"],
                nodes,
                environment: variables.merging(["MOBILE_TOKEN_SEALING_KEY_SOURCE": place]) { $1 }
            )
            #expect(new.exitCode == 0, "\(new.errors)")
            #expect(new.lines.last == "a           506    good")
        }
    }

    @Test func nodesThatAreAliveAreShown() async throws {
        try await withNodes { nodes in
            #expect(try await self.run(["store", "migrate"], nodes).output == "The tables are up to date.\n")
            #expect(try await self.run(["fleet", "status"], nodes).output == "No node is alive.\n")
            let store = nodes.node("bot 1")
            try await store.insert(ActivationStoreConformance.record("a"))
            let status = try await store.withSigningTurn(of: "a") { _ in try await self.run(["fleet", "status"], nodes)
            }
            #expect(status.lines.count == 2)
            #expect(status.lines.last?.hasPrefix("bot 1 ") == true)
            #expect(status.errors == "")

            // As after the promotion of a standby: that nobody is alive has a reason.
            try nodes.connect().run("UPDATE incarnation SET timeline = 'FFFFFFFF'")
            let later = try await self.run(["fleet", "status"], nodes)
            #expect(later.output == "No node is alive.\n")
            #expect(later.errors.contains("Life 2 of the database"), "\(later.errors)")
            #expect(later.errors.contains("another system identifier or timeline"))
        }
    }

    @Test func aDatabaseThatIsNotNamedIsAskedFor() async throws {
        let outcome = try await ChildProcess.run(
            ChildProcess.besideTests("mobile-token-postgres"),
            ["store", "check"],
            environment: [:]
        )
        #expect(outcome.errors.contains("--database is missing"))
        #expect(outcome.exitCode == 2)
    }
}
