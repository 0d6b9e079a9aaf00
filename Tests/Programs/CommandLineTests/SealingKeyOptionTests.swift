import ExactJSON
import Foundation
import MobileTokenEmulator
import SQLiteDatabase
import TestSupport
import Testing

/// The places of the key that seals a profile's store.
@Suite(.timeLimit(.minutes(5))) struct SealingKeyOptionTests {
    private static let variables = [
        "KEY": "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=", "OTHER": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
    ]

    private func run(_ words: [String], _ home: TemporaryFolder) async throws -> ChildProcess.Outcome {
        try await Program.run(words, home: home.url, environment: Self.variables)
    }

    private func code(_ outcome: ChildProcess.Outcome) throws -> String? {
        #expect(outcome.exitCode == 78)
        #expect(outcome.output == "")
        let error = try JSONValue(parsing: outcome.errors)["error"]
        #expect(error?["message"]?.string?.hasSuffix("; see --sealing-key") == true, "\(outcome.errors)")
        return error?["code"]?.string
    }

    @Test(arguments: ["file:HOME/keys/sealing", "env:KEY", "command:printenv KEY"])
    func theProfileKeepsThePlaceAndNoOtherKeyOpensTheStore(place: String) async throws {
        try await withProgramAndServer { emulator, home in
            let place = place.replacing("HOME", with: home.path)
            let id = try await Program.activate(
                at: emulator,
                home: home.url,
                environment: Self.variables.merging(["MOBILE_TOKEN_SEALING_KEY_SOURCE": place]) { $1 }
            )
            #expect(!FileManager.default.fileExists(atPath: home.file("default/activations.sqlite.key")))
            #expect(FileManager.default.fileExists(atPath: home.file("keys/sealing")) == place.hasPrefix("file:"))
            let status = try await self.run(["status", "--json"], home)
            #expect(try JSONValue(parsing: status.output)["activationId"]?.string == id, "\(status.errors)")
            let list = try await self.run(["profile", "list", "--json"], home)
            #expect(try JSONValue(parsing: list.output).array?.first?["sealingKey"]?.string == place)

            for (other, code) in [
                ("env:OTHER", "storeWrongSealingKey"), ("env:NONE", "storeSealingKeyMissing"),
                ("file:\(home.path)/no/key", "storeSealingKeyMissing"), ("command:false", "storeSealingKeyMissing"),
            ] {
                let refused = try await self.run(["status", "--json", "--sealing-key", other], home)
                #expect(try self.code(refused) == code)
                if code == "storeWrongSealingKey" { #expect(refused.errors.contains("than that of \(other)")) }
            }
            #expect(!FileManager.default.fileExists(atPath: home.file("no")))
            #expect(try await self.run(["status", "--sealing-key", place], home).exitCode == 0)
        }
    }

    @Test func thePlaceInTheEnvironmentCountsForANewProfileOnly() async throws {
        try await withActivatedProgram { emulator, home in
            let status = try await Program.run(
                "status",
                home: home.url,
                environment: ["MOBILE_TOKEN_SEALING_KEY_SOURCE": "command:false"]
            )
            #expect(status.exitCode == 0, "\(status.errors)")
        }
    }

    @Test func whatIsNoPlaceIsWrongUsage() async throws {
        try await withActivatedProgram { emulator, home in
            let status = try await self.run(["status", "--sealing-key", home.file("key")], home)
            #expect(status.exitCode == 2)
            #expect(status.errors.contains("file:PATH, env:NAME or command:PROGRAM"))
        }
    }

    @Test func receiptsThatDoNotOpenAreNamed() async throws {
        try await withActivatedProgram { emulator, home in
            for _ in 0..<2 {
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(try await self.run(["reject", login.id], home).exitCode == 0)
            }
            do {
                let store = try SQLiteConnection(path: home.file("default/activations.sqlite"))
                try store.run("UPDATE receipt SET body = x'00' WHERE number IN (1, 4)")
            }
            let reseal = try await self.run(["profile", "reseal", "env:KEY"], home)
            #expect(reseal.output.hasSuffix(" Receipt entries that do not open: 1, 4.\n"), "\(reseal.errors)")
            let again = try await self.run(["profile", "reseal", "env:OTHER", "--json"], home)
            #expect(try JSONValue(parsing: again.output)["unreadable"]?.array == [1, 4], "\(again.errors)")
        }
    }

    @Test func theStoreMovesFromOneKeyToAnother() async throws {
        try await withActivatedProgram { emulator, home in
            for place in ["env:KEY", "command:printenv OTHER", "file:\(home.path)/keys/new"] {
                let before = try Data(contentsOf: home.url.appending(path: "default/profile.json"))
                let reseal = try await self.run(["profile", "reseal", place], home)
                #expect(reseal.exitCode == 0, "\(reseal.errors)")
                #expect(try await self.run(["status"], home).exitCode == 0)

                // As if it had been killed when the store was sealed anew, and the profile did not say so yet.
                let profile = home.url.appending(path: "default/profile.json")
                try before.write(to: profile)
                #expect(try self.code(try await self.run(["status", "--json"], home)) == "storeWrongSealingKey")
                #expect(try await self.run(["profile", "reseal", place], home).exitCode == 0)
                #expect(try await self.run(["status"], home).exitCode == 0)
            }
            let failed = try await self.run(["profile", "reseal", "env:NONE", "--json"], home)
            #expect(try self.code(failed) == "storeSealingKeyMissing")
            #expect(try await self.run(["status"], home).exitCode == 0)
        }
    }
}
