import CommandLineSupport
import Foundation
import Glibc
import StoreTesting
import MobileToken
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SealingKeyCommandTests {
    private static let key = [UInt8](repeating: 9, count: 32)
    private static let encodedKey = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk="

    private func key(_ script: String, within limit: Duration = .seconds(60)) async throws -> [UInt8] {
        try await SealingKeyCommand(words: ["/bin/sh", "-c", script], timeLimit: limit)
            .sealingKey(isForNewStore: true)
            .withUnsafeBytes { Array($0) }
    }

    private func message(of body: () async throws -> some Sendable) async -> String? {
        let error = await #expect(throws: MobileTokenError.self) { try await body() }
        #expect(error?.code == .storeSealingKeyMissing)
        return error?.message
    }

    @Test(arguments: ["echo \(Self.encodedKey)", "printf ' %s\\r\\n\\n' \(Self.encodedKey); echo no key >&2"])
    func theKeyIsOnStandardOutput(script: String) async throws {
        #expect(try await self.key(script) == Self.key)
    }

    @Test func wordsArePassedOnAsTheyAre() async throws {
        let key = try await SealingKeyCommand(words: ["printf", "%s%.0s", Self.encodedKey, "$(exit 1); $HOME *"])
            .sealingKey(isForNewStore: false)
        #expect(key.withUnsafeBytes { Array($0) } == Self.key)
    }

    @Test func nothingCanBeReadFromStandardInput() async throws {
        #expect(try await self.key("cat; echo \(Self.encodedKey)") == Self.key)
    }

    @Test(arguments: [
        ("echo \(Self.encodedKey); exit 3", "ended with exit status 3"),
        ("echo \(Self.encodedKey); kill -9 $$", "ended with exit status 137"),
        ("", "is not Base64 of 32 bytes"),
        ("echo secret", "is not Base64 of 32 bytes"),
        ("echo c2VjcmV0", "is not Base64 of 32 bytes"),
        ("echo \(Self.encodedKey); echo \(Self.encodedKey)", "is not Base64 of 32 bytes"),
        ("printf '%1024s' x", "wrote 1024 bytes or more"),
        ("yes", "wrote 1024 bytes or more"),
    ])
    func whatIsNoKeyIsRefusedByNameAndNotTold(script: String, reason: String) async throws {
        let message = try #require(await self.message { try await self.key(script) })
        #expect(message.contains(reason), "\(message)")
        #expect(!message.contains("secret") && !message.contains("c2Vj"))
    }

    @Test func aProgramThatIsNotThereIsNamed() async throws {
        let message = await self.message {
            try await SealingKeyCommand(words: ["/nowhere/key", "argument"]).sealingKey(isForNewStore: false)
        }
        #expect(message == "The command '/nowhere/key' cannot be started: No such file or directory")
    }

    @Test func whatTheProgramLeavesBehindIsNotWaitedFor() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("pid")
        #expect(try await self.key("sleep 600 & echo $! >\(file); echo \(Self.encodedKey)") == Self.key)
        let identifier = try #require(try Self.number(in: file))
        #expect(Self.isRunning(identifier))
        kill(identifier, SIGKILL)
    }

    /// Standard output may be open at the end of the time, or long closed.
    @Test(arguments: ["sleep 600 & echo $! >$0; wait", "sleep 600 & echo $! >$0; exec >&-; wait"])
    func aProgramThatDoesNotEndInTimeIsKilledWithAllItStarted(script: String) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("pid")
        let message = await self.message {
            try await SealingKeyCommand(words: ["/bin/sh", "-c", script, file], timeLimit: .seconds(1))
                .sealingKey(isForNewStore: true)
        }
        #expect(message == "The command '/bin/sh' did not end in time")
        let identifier = try #require(try Self.number(in: file))
        await until { !Self.isRunning(identifier) }
    }

    @Test func cancellationKillsTheProgram() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("pid")
        let task = Task { try await self.key("echo $$ >\(file).new; mv \(file).new \(file); exec sleep 600") }
        await until { FileManager.default.fileExists(atPath: file) }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        let identifier = try #require(try Self.number(in: file))
        #expect(!Self.isRunning(identifier))
    }

    @Test func aCanceledTaskStartsNothing() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("started")
        let task = Task {
            await waitForCancellation()
            return try await self.key("touch \(file)")
        }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func aStoreOpensWithItAndWithNoOtherKey() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        let record = ActivationStoreConformance.record("a")
        let right = try SealingKeySource("command:echo \(Self.encodedKey)")
        try await ActivationStore.sqlite(path: path, sealingKey: right).insert(record)
        #expect(try await ActivationStore.sqlite(path: path, sealingKey: right).record(of: "a") == record)
        let wrong = ActivationStore.sqlite(path: path, sealingKey: try SealingKeySource("command:echo none"))
        #expect(await self.message { try await wrong.open() } != nil)
        #expect(!FileManager.default.fileExists(atPath: path + ".key"))
    }

    private static func number(in file: String) throws -> pid_t? {
        pid_t(try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines))
    }

    /// One that has ended may be a zombie for as long as nobody waits for it.
    private static func isRunning(_ identifier: pid_t) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        return status.map { !$0.contains(") Z ") } ?? false
    }
}

@Suite struct SealingKeySourceTests {
    @Test(arguments: [
        ("file:/a b/key:1", "file:/a b/key:1"), ("env:KEY", "env:KEY"),
        ("command:/bin/key  --slot 1 ", "command:/bin/key --slot 1"), ("command:key a:b", "command:key a:b"),
        ("file:key", "file:\(FileManager.default.currentDirectoryPath)/key"),
        ("command:./key", "command:\(FileManager.default.currentDirectoryPath)/./key"),
    ])
    func aPlaceMeansTheSameInAnyFolder(string: String, description: String) throws {
        #expect(try SealingKeySource(string).description == description)
        #expect(try SealingKeySource(description).description == description)
    }

    @Test(arguments: ["", "key", "file:", "env:", "env:A=B", "command:", "command:  ", "File:/key", ":", "file:/a\0b"])
    func whatNamesNoPlaceIsRefused(string: String) {
        let error = #expect(throws: MobileTokenError.self) { try SealingKeySource(string) }
        #expect(error?.code == .invalidConfiguration)
    }
}
