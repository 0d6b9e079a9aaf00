import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// The example of a bot that callbacks wake, run as it stands: `Snippets/CallbackBot.swift`.
@Suite(.timeLimit(.minutes(5))) struct CallbackBotTests {
    @Test func itDecidesWhenACallbackArrivesAndTrustsNoneOfThem() async throws {
        try await withEmulator { emulator in
            let registration = try await emulator.cloud.register(userID: "alice")
            let bot = try ChildProcess(
                ChildProcess.besideTests("CallbackBot"),
                [registration.activationQRCode, "1234"],
                environment: [
                    "MOBILE_TOKEN_URL": emulator.baseURL, "MOBILE_TOKEN_SDK_CONFIGURATION": emulator.sdkConfiguration,
                    "HOME": "/nonexistent",
                ]
            )
            try #require(await bot.nextLine() == "activated")
            try await emulator.cloud.commitRegistration(registration.id)
            // It polls once by itself, perhaps before the commit, and then for a quarter of an hour no more.
            bot.write(#"{"type":"OPERATION","operationId":"1","userId":"alice","status":"PENDING"}"# + "\n")
            #expect(await bot.nextLine() == "204")
            try await Self.waitForList(of: emulator)

            for (body, status) in [
                ("nothing", "400"), (#"{"type":"ACTIVATION","operationId":"1"}"#, "400"),
                (#"{"type":"OPERATION","operationId":"1","operationId":"2"}"#, "400"),
            ] {
                bot.write(body + "\n")
                #expect(await bot.nextLine() == status, "\(body)")
            }
            let received = Shared<[String]>([])
            try await withCallbackReceiver({ body in
                let body = String(decoding: body, as: UTF8.self)
                received.update { $0.append(body) }
                bot.write(body + "\n")
                return 204
            }) { url in
                let decided = try await Self.createLogin(at: emulator, for: "alice", tellingOf: url)
                #expect(await emulator.decision(on: decided)?.status == .approved)
                #expect(received.value.contains { $0.contains(decided) })

                // A callback that names what is not the bot's brings about no more than a look at the list.
                let foreign = try await emulator.cloud.createOperation("login", userID: "bob").id
                bot.write(
                    #"{"type":"OPERATION","operationId":"\#(foreign)","userId":"alice","status":"PENDING"}"# + "\n"
                )
                let next = try await Self.createLogin(at: emulator, for: "alice", tellingOf: url)
                #expect(await emulator.decision(on: next)?.status == .approved)
                #expect(try await emulator.cloud.operation(foreign).status == .pending)
            }
            bot.send(signal: SIGTERM)
            _ = await bot.outcome()
        }
    }

    private static func createLogin(
        at emulator: Emulator,
        for user: String,
        tellingOf url: String
    ) async throws -> String {
        let home = try TemporaryFolder()
        let words = ["emulator", "create", "login", "--user", user, "--callback-url", url, "--json"]
        let environment = ["MOBILE_TOKEN_URL": emulator.baseURL]
        let outcome = try await Program.run(words, home: home.url, environment: environment)
        return try #require(try JSONValue(parsing: outcome.output)["operationId"]?.string, "\(outcome.errors)")
    }

    /// Returns when a list was asked for and given.
    private static func waitForList(of emulator: Emulator) async throws {
        let events = emulator.events()
        func isListed() async -> Bool {
            await emulator.journal().contains { $0.path.hasSuffix("/operation/list") && $0.isAccepted }
        }
        if await isListed() { return }
        for await event in events where event.kind == .request { if await isListed() { return } }
    }
}
