import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// Processes that sign with one activation, kept in one SQLite store, and the deaths they die.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ProcessTests {
    @Test func processesTakeTurnsToSign() async throws {
        try await Device.with { device in
            let position = await device.emulator.journalPosition
            let signers = try (0..<3).map { _ in try device.signer(settings: ["count=40", "waits"]) }
            for signer in signers { #expect(await signer.nextLine() == "ready") }
            for signer in signers { signer.write("go\n") }
            for signer in signers { #expect(await signer.outcome().lines.last == "done") }
            let uses = try await device.counterUses()
            #expect(uses.map(\.place) == Array(0..<120), "a counter value was left out, used twice or out of turn")
            #expect(uses.allSatisfy { $0.refusal == nil })
            #expect(Set(uses.map(\.process)).count == 3)
            // A turn is a signature and the status that proves it, with a status before it when somebody else had signed.
            let journal = await device.emulator.journal(since: position)
            for (entry, next) in zip(journal, journal.dropFirst()) where entry.isSigned {
                #expect(
                    !next.isSigned && next.process == entry.process,
                    "\(next.path) came into another process's turn"
                )
            }
            try await device.expectInStep()
        }
    }

    @Test(arguments: [1, 2]) func noCounterValueIsUsedTwiceHoweverOftenProcessesAreKilled(lanes: Int) async throws {
        var random = SeededGenerator()
        let deaths = (0..<80).map { _ in Death.random(using: &random) }
        try await Device.with { device in
            try await withThrowingTaskGroup { group in
                for lane in 0..<lanes {
                    group.addTask {
                        for (number, death) in deaths.enumerated() where number % lanes == lane {
                            let outcome = await (try device.signer(settings: death.settings)).outcome()
                            #expect(outcome.wasKilled, "\(outcome.output)\(outcome.errors)")
                            #expect(outcome.lines == [], "a process failed before it was killed")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let uses = try await device.counterUses()
            #expect(uses.count >= deaths.reduce(0) { $0 + $1.signatures })
            #expect(Set(uses.map(\.place)).count == uses.count, "a counter value was used twice")
            let last = try #require(uses.map(\.place).max())
            #expect(last < uses.count + deaths.count, "more than one value for each death was taken and not used")
            // Only the last request of one that was killed can be refused: another process, which signed with the next
            // value, was quicker than the network.
            for (index, use) in uses.enumerated() where use.refusal != nil {
                #expect(uses[..<index].contains { $0.place > use.place }, "refused: \(use)")
                #expect(!uses[(index + 1)...].contains { $0.process == use.process }, "refused: \(use)")
            }
            try await device.expectInStep()
        }
    }
}

/// The moment at which a process is killed: so long after it began, or after it had made so many signatures.
private struct Death {
    let signatures: Int
    let microseconds: Int

    /// Half of the processes die while they start, or in their first requests; the others in the midst of their work.
    static func random(using random: inout SeededGenerator) -> Self {
        Bool.random(using: &random)
            ? Self(signatures: 0, microseconds: .random(in: 0..<80_000, using: &random))
            : Self(
                signatures: .random(in: 1...4, using: &random),
                microseconds: .random(in: 0..<12_000, using: &random)
            )
    }

    var settings: [String] {
        ["die-after=\(self.microseconds)"] + (self.signatures == 0 ? [] : ["die-after-signatures=\(self.signatures)"])
    }
}

/// An activation in a store that belongs to nobody but the processes of a test.
private struct Device {
    let emulator: Emulator
    let activationID: String
    private let folder: TemporaryFolder
    /// As it was before the first signature.
    private let record: ActivationRecord
    /// Of the two factors, in the order of the protocol.
    private let keys: [SecretBytes]

    static func with(_ body: (Device) async throws -> Void) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
            let client = try emulator.makeClient { $0.store = store }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let record = try #require(try await store.record(of: activation.activationID))
            let stored = try #require(record.version3)
            let knowledge = try KnowledgeKeyProtection.unprotect(
                stored.encryptedKnowledgeKey,
                password: SecretBytes(utf8: password),
                salt: stored.knowledgeSalt
            )
            await store.close()
            try await body(
                Device(
                    emulator: emulator,
                    activationID: activation.activationID,
                    folder: folder,
                    record: record,
                    keys: [stored.possessionKey, knowledge]
                )
            )
        }
    }

    func signer(settings: [String]) throws -> ChildProcess {
        try ChildProcess(
            ChildProcess.besideTests("StoreExerciser"),
            [
                "action=sign", "store=\(self.folder.file("store.sqlite"))", "activation=\(self.activationID)",
                "password=\(password)", "url=\(self.emulator.baseURL)",
                "sdk-configuration=\(self.emulator.sdkConfiguration)",
            ] + settings
        )
    }

    /// The counter value behind a signature that the server has seen.
    struct CounterUse {
        /// Its place after the value that the activation began with.
        let place: Int
        let process: String
        let refusal: String?
    }

    /// Returns the counter of every signed request, oldest first: found by trying the values, whatever the server made of it.
    func counterUses() async throws -> [CounterUse] {
        let secret = try SDKConfiguration(parsing: self.emulator.sdkConfiguration).applicationSecret
        var counters = [try #require(self.record.counter.version3)]
        var uses: [CounterUse] = []
        for entry in await self.emulator.journal() where entry.isSigned {
            let header = try SignatureHeader(parsing: entry.header(SignatureHeader.name))
            let data = SignatureData(
                method: entry.method,
                uriID: "/pa/signature/validate",
                nonce: header.nonce,
                body: Array(entry.body.utf8)
            )
            let verifier = SignatureVerifier(data, keys: self.keys, secret: .online(secret))
            // The next one first, then some that were left out, and then those before.
            let expected = (uses.map(\.place).max() ?? -1) + 1
            while counters.count < expected + 100 { counters.append(counters[counters.count - 1].next()) }
            let candidates = Array(expected..<expected + 100) + (0..<expected).reversed()
            let place = candidates.first {
                verifier.match(online: header.signature, counter: counters[$0], lookAhead: 1) != nil
            }
            uses.append(
                CounterUse(
                    place: try #require(place, "signed with no value of this activation's counter"),
                    process: try #require(entry.process),
                    refusal: entry.refusal
                )
            )
        }
        return uses
    }

    /// Signs, and expects the server to agree and to have nothing against the activation, of which only the counter moved.
    func expectInStep() async throws {
        let store = ActivationStore.sqlite(path: self.folder.file("store.sqlite"))
        let client = try self.emulator.makeClient { $0.store = store }
        let activation = try await client.activation(id: self.activationID)
        let position = await self.emulator.journalPosition
        try await activation.validate(.twoFactors)
        #expect(await self.emulator.journal(since: position).refusals == [])
        let status = try await activation.status()
        #expect(status.counter.distance == 0)
        #expect(status.failedAttempts == 0)

        let record = try #require(try await store.record(of: self.activationID))
        var expected = self.record
        while expected.history.moves < record.history.moves {
            expected.counter = expected.counter.next()
            if expected.history.moves == record.history.confirmedMoves { expected.ledger.confirm() }
        }
        expected.isUnsettled = record.isUnsettled
        expected.ledger.unseenSignatures = record.ledger.unseenSignatures
        #expect(record == expected, "something else than the counter has changed")
    }
}

extension Emulator.JournalEntry {
    fileprivate var process: String? { self.header("User-Agent") }

    fileprivate func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
