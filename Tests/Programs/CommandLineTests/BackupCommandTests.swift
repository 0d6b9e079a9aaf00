import ExactJSON
import Foundation
import TestSupport
import Testing

/// `mobile-token store backup`.
@Suite(.timeLimit(.minutes(5))) struct BackupCommandTests {
    @Test func aCopyOfTheStoreTakesItsPlace() async throws {
        try await withActivatedProgram { emulator, home, id in
            let (store, copy) = (home.file("default/activations.sqlite"), home.file("copy.sqlite"))
            let backup = try await Program.run("store", "backup", copy, home: home.url)
            #expect(backup.exitCode == 0, "\(backup.errors)")
            #expect(backup.output == "Activations copied and checked: 1.\n")
            let other = try await Program.run(
                ["store", "backup", home.file("other.sqlite"), "--file", store, "--json"],
                home: home.url
            )
            #expect(try JSONValue(parsing: other.output)["activations"]?.array == [.string(id)], "\(other.errors)")

            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
            try FileManager.default.moveItem(atPath: copy, toPath: store)
            let status = try await Program.run("status", "--json", home: home.url)
            #expect(try JSONValue(parsing: status.output)["activationId"]?.string == id, "\(status.errors)")
        }
    }

    @Test func whatIsNotThereIsNotCopied() async throws {
        try await withProgramAndServer { emulator, home in
            let copy = home.file("copy.sqlite")
            func exitCode(_ words: String...) async throws -> Int32? {
                try await Program.run(["store", "backup", copy] + words, home: home.url).exitCode
            }
            #expect(try await exitCode() == 4)
            #expect(try await exitCode("--file", home.file("none.sqlite")) == 2)
            #expect(try await exitCode("--file", home.file("none.sqlite"), "--profile", "default") == 2)
            _ = try await Program.activate(at: emulator, home: home.url)
            #expect(try await exitCode("--sealing-key", "command:false") == 78)
            #expect(!FileManager.default.fileExists(atPath: copy))
            #expect(!FileManager.default.fileExists(atPath: home.file("none.sqlite")))
            #expect(try await exitCode() == 0)
            #expect(try await exitCode() == 2)
        }
    }
}
