import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// Receipts as an operator handles them: shown, exported, verified, signed and erased.
@Suite(.timeLimit(.minutes(5))) struct ReceiptCommandTests {
    /// Approves a payment and rejects another, and returns their identifiers.
    private func decide(at emulator: Emulator, home: TemporaryFolder) async throws -> [String] {
        let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
        let login = try await emulator.cloud.createOperation("login", userID: "alice")
        let approve = try await Program.runWithPassword("approve", payment.id, home: home.url)
        #expect(approve.exitCode == 0, "\(approve.errors)")
        let reject = try await Program.run("reject", login.id, "--reason", "POSSIBLE_FRAUD", home: home.url)
        #expect(reject.exitCode == 0, "\(reject.errors)")
        return [payment.id, login.id]
    }

    private func verify(_ paths: String..., home: TemporaryFolder) async throws -> (Int32?, JSONValue) {
        let outcome = try await Program.run(["receipts", "verify"] + paths + ["--json"], home: home.url)
        return (outcome.exitCode, try JSONValue(parsing: outcome.output))
    }

    @Test func decisionsByHandLeaveReceipts() async throws {
        try await withActivatedProgram { emulator, home, activationID in
            #expect(try await Program.run("receipts", "show", home: home.url).output == "No receipts.\n")
            let ids = try await self.decide(at: emulator, home: home)

            let show = try await Program.run("receipts", "show", "--json", home: home.url)
            let receipts = try #require(try JSONValue(parsing: show.output).array)
            #expect(receipts.map { $0["verdict"]?.string } == ["approve", "reject"])
            #expect(receipts.map { $0["result"]?.string } == ["accepted", "accepted"])
            #expect(receipts.map { $0["operation"]?.string } == ids)
            #expect(receipts.map { $0["reason"]?.string } == [nil, "POSSIBLE_FRAUD"])
            #expect(receipts.map { $0["factors"]?.string } == ["possession_knowledge", "possession"])
            #expect(receipts.allSatisfy { $0["activationId"]?.string == activationID && $0["policy"]?.isNull == true })
            let table = try await Program.run("receipts", "show", home: home.url)
            #expect(table.output.contains(ids[0]) && table.output.contains("by hand"))
        }
    }

    /// Nothing in the table looks as if a receipt were missing.
    @Test func receiptsAreCountedForReaders() async throws {
        try await withActivatedProgram { emulator, home in
            _ = try await self.decide(at: emulator, home: home)
            let table = try await Program.run("receipts", "show", home: home.url)
            #expect(table.lines.dropFirst().map { $0.prefix(2) } == ["1 ", "2 "], "\(table.output)")
            let show = try await Program.run("receipts", "show", "--json", home: home.url)
            let numbers = try JSONValue(parsing: show.output).array?.map { $0["number"]?.int64 }
            #expect(numbers == [1, 3])
        }
    }

    @Test func aFolderThatIsNotThereIsNotTakenForAnEmptyOne() async throws {
        try await withActivatedProgram { emulator, home, id in
            let ids = try await self.decide(at: emulator, home: home)
            let folder = home.file("misspelt")
            for words in [["reconcile", folder, "--password-stdin"], ["erase", folder, "--activation", id]] {
                let outcome = try await Program.run(["receipts"] + words, home: home.url, input: "1234\n")
                #expect(outcome.exitCode == 5)
                #expect(outcome.errors == "mobile-token: storeUnreadable: There is no folder \(folder)\n")
            }
            // Nothing was erased in the store either.
            #expect(try await Program.run("receipts", "show", home: home.url).output.contains(ids[0]))
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test func receiptsAreComparedWithTheBanksHistory() async throws {
        try await withProgramAndServer { emulator, home in
            func reconcile(_ words: String...) async throws -> (Int32?, JSONValue, String) {
                let outcome = try await Program.run(
                    ["receipts", "reconcile", "--password-stdin", "--json"] + words,
                    home: home.url,
                    input: "1234\n"
                )
                return (outcome.exitCode, (try? JSONValue(parsing: outcome.output)) ?? .null, outcome.errors)
            }
            _ = try await Program.activate(at: emulator, home: home.url)
            _ = try await self.decide(at: emulator, home: home)
            let (same, result, errors) = try await reconcile()
            #expect(same == 0, "\(errors)")
            #expect(result["agreeing"]?.int64 == 2)
            #expect(result["differences"]?.array == [])

            // The answer is lost; then the trace that it left would be.
            let lost = try await emulator.cloud.createOperation("payment", userID: "alice")
            try await emulator.withFault(.lostAnswer, on: "/**/cancel") {
                let rejected = try await Program.run("reject", lost.id, home: home.url)
                #expect(rejected.exitCode == 3)
                #expect(rejected.errors.contains("outcomeUnknown"))
            }
            let (open, _, told) = try await reconcile()
            #expect(open == 13)
            #expect(try JSONValue(parsing: told)["error"]?["code"]?.string == "decisionsOpen")
            let (settled, after, _) = try await reconcile("--settle")
            #expect(settled == 0)
            // By whom it ended is proved by the history alone, and the receipt says so from then on.
            #expect(after["agreeing"]?.int64 == 2)
            #expect(after["settled"]?.array?.map { $0["operation"]?.string } == [lost.id])
            #expect(after["settled"]?.array?.map { $0["conclusion"]?.string } == ["inferred"])
            #expect(try await reconcile().1["agreeing"]?.int64 == 3)

            // Another phone of the user leaves no receipt here.
            let phone = try emulator.makeClient()
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", client: phone)
            let elsewhere = try await emulator.cloud.createOperation("login", userID: "alice")
            try await phone.makeOperationsService(for: activation).reject(
                try await phone.makeOperationsService(for: activation).detail(id: elsewhere.id)
            )
            let (differs, found, _) = try await reconcile()
            #expect(differs == 13)
            #expect(found["differences"]?.array?.map { $0["kind"]?.string } == ["decidedElsewhere"])
            #expect(found["differences"]?.array?.map { $0["operation"]?.string } == [elsewhere.id])
            #expect(try await reconcile("--since", "2200-01-01").0 == 0)
            #expect(try await reconcile("--since", "soon").0 == 2)
        }
    }

    @Test func receiptsAreExportedSignedAndVerified() async throws {
        try await withActivatedProgram { emulator, home, activationID in
            let folder = home.file("receipts")
            for _ in 0..<2 {
                _ = try await self.decide(at: emulator, home: home)
                let export = try await Program.runWithPassword("receipts", "export", folder, "--sign", home: home.url)
                #expect(export.exitCode == 0, "\(export.errors)")
                #expect(export.output.hasPrefix("Exported 4 entries"))
            }
            let (exitCode, result) = try await self.verify(folder, home: home)
            #expect(exitCode == 0)
            #expect(result["intact"]?.bool == true)
            #expect(result["lines"]?.int64 == 10)
            #expect(result["intents"]?.int64 == 4)
            #expect(result["open"]?.int64 == 0)
            #expect(result["signatures"]?.array?.map { $0["activationId"]?.string } == [activationID, activationID])

            // A torn end is no fault, and neither are files by name.
            let file = folder + "/receipts-000001.jsonl"
            let handle = try #require(FileHandle(forWritingAtPath: file))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(#"{"version":1,"pre"#.utf8))
            try handle.close()
            let (tornCode, torn) = try await self.verify(file, home: home)
            #expect(tornCode == 0)
            #expect(torn["tornBytes"]?.int64 == 17)
        }
    }

    @Test func aChangedLineIsNamed() async throws {
        try await withActivatedProgram { emulator, home in
            _ = try await self.decide(at: emulator, home: home)
            let folder = home.file("receipts")
            #expect(try await Program.run("receipts", "export", folder, home: home.url).exitCode == 0)
            let file = folder + "/receipts-000001.jsonl"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let changed = text.replacing(#""verdict":"approve""#, with: #""verdict":"reject""#)
            try changed.write(toFile: file, atomically: true, encoding: .utf8)

            let (exitCode, result) = try await self.verify(folder, home: home)
            #expect(exitCode == 1)
            #expect(result["fault"]?["line"]?.int64 == 2)
            #expect(result["fault"]?["file"]?.string == file)
            let told = try await Program.run("receipts", "verify", folder, home: home.url)
            #expect(told.exitCode == 1)
            #expect(told.output.hasPrefix("Changed: \(file):2: it does not follow the line before"))
            // An export that is not as it was written is not continued either.
            #expect(try await Program.run("receipts", "export", folder, home: home.url).exitCode != 0)
            #expect(try await Program.run("receipts", "verify", home.file("nothing"), home: home.url).exitCode == 5)
        }
    }

    @Test func erasedReceiptsVerifyAsBefore() async throws {
        try await withActivatedProgram { emulator, home, activationID in
            let ids = try await self.decide(at: emulator, home: home)
            let folder = home.file("receipts")
            #expect(try await Program.run("receipts", "export", folder, home: home.url).exitCode == 0)
            let (_, before) = try await self.verify(folder, home: home)

            let early = try await Program.run(
                ["receipts", "erase", folder, "--before", "2001-01-01", "--json"],
                home: home.url
            )
            #expect(try JSONValue(parsing: early.output)["erased"]?.int64 == 0)
            let erase = try await Program.run(
                ["receipts", "erase", folder, "--activation", activationID, "--json"],
                home: home.url
            )
            #expect(erase.exitCode == 0, "\(erase.errors)")
            #expect(try JSONValue(parsing: erase.output)["erased"]?.int64 == 2)
            #expect(try JSONValue(parsing: erase.output)["erasedLines"]?.int64 == 2)

            let (exitCode, after) = try await self.verify(folder, home: home)
            #expect(exitCode == 0)
            #expect(after["head"] == before["head"])
            #expect(after["erased"]?.int64 == 2)
            let text = try String(contentsOfFile: folder + "/receipts-000001.jsonl", encoding: .utf8)
            for id in ids { #expect(!text.contains(id)) }
            #expect(try await Program.run("receipts", "show", home: home.url).output.contains("(erased)"))
            #expect(try await Program.run("receipts", "erase", home: home.url).exitCode == 2)
            #expect(try await Program.run("receipts", "erase", "--before", "soon", home: home.url).exitCode == 2)
        }
    }
}
