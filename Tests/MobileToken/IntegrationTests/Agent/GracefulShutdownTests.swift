import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// Programs of the pages, ended by a signal.
@Suite(.timeLimit(.minutes(5))) struct GracefulShutdownTests {
    /// The program of the page, with a real signal.
    @Test func aSignalEndsTheProgramOfThePageInOrder() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            let store = ActivationStore.sqlite(path: path)
            let client = try emulator.makeClient { $0.store = store }
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            await store.close()
            let login = try await emulator.cloud.createOperation("login", userID: "alice")

            let program = try ChildProcess(
                ChildProcess.besideTests("EndingInOrder"),
                [emulator.baseURL, emulator.sdkConfiguration, path, password]
            )
            #expect(await program.nextLine() == "deciding")
            #expect(await emulator.decision(on: login.id)?.status == .approved)
            program.send(signal: SIGTERM)
            let outcome = await program.outcome()
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.lines == ["deciding", "ended in order"])
        }
    }

    /// The bot of the page in one file: it approves what its policy says, tells an address of the rest, and ends in order.
    @Test func theBotInOneFileApprovesTellsAndEnds() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let (path, passwordFile) = (folder.file("store.sqlite"), folder.file("password"))
            try Data("\(password)\n".utf8).write(to: URL(filePath: passwordFile))
            let store = ActivationStore.sqlite(path: path)
            let client = try emulator.makeClient { $0.store = store }
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            await store.close()
            let small = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "20"]
            )
            let large = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "51"]
            )

            let (told, teller) = AsyncStream.makeStream(of: [UInt8].self)
            try await withCallbackReceiver({
                teller.yield(Array($0))
                return 200
            }) { webhook in
                var environment = ProcessInfo.processInfo.environment
                environment["BOT_URL"] = emulator.baseURL
                environment["BOT_SDK_CONFIGURATION"] = emulator.sdkConfiguration
                environment["BOT_STORE"] = path
                environment["BOT_PASSWORD_FILE"] = passwordFile
                environment["BOT_WEBHOOK"] = webhook
                let program = try ChildProcess(ChildProcess.besideTests("WholeBot"), [], environment: environment)
                #expect(await emulator.decision(on: small.id)?.status == .approved)
                let body = try #require(await told.first { _ in true })
                let notice = try JSONValue(parsing: body)
                #expect(notice["operation"]?.string == large.id)
                #expect(notice["reason"]?.string == "over the limit")
                program.send(signal: SIGTERM)
                let outcome = await program.outcome()
                #expect(outcome.exitCode == 0, "\(outcome.errors)")
                #expect(!FileManager.default.fileExists(atPath: path + "-wal"), "number 33: it closes its store")
            }
            #expect(try await emulator.cloud.operation(large.id).status == .pending)
        }
    }
}
