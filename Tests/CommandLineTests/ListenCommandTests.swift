import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import TestSupport
import Testing

/// `mobile-token listen`, for backends that the server cannot reach.
@Suite(.timeLimit(.minutes(4))) struct ListenCommandTests {
    private func start(_ emulator: Emulator, _ home: TemporaryFolder, _ words: String...) throws -> ChildProcess {
        try Program.start(["listen", "--url", emulator.baseURL, "--json"] + words, home: home.url)
    }

    /// A configuration, and an element for each time that a listener asks for callbacks.
    private static func configuration() -> (Emulator.Configuration, AsyncStream<Void>) {
        let (renewals, renewal) = AsyncStream.makeStream(of: Void.self)
        var configuration = Emulator.Configuration()
        configuration.requestLog = { if $0.path == "/_emulator/listeners" { renewal.yield() } }
        return (configuration, renewals)
    }

    private func next(_ program: ChildProcess) async throws -> JSONValue {
        try JSONValue(parsing: try #require(await program.nextLine()))
    }

    @Test func eachDeliveryIsForwardedAndTheServerIsToldTheAnswer() async throws {
        let (bodies, status) = (Shared<[JSONValue]>([]), Shared(204))
        let home = try TemporaryFolder()
        let (configuration, renewals) = Self.configuration()
        try await withEmulator(configuration) { emulator in
            try await withCallbackReceiver({ body in
                bodies.update { $0.append((try? JSONValue(parsing: body)) ?? .null) }
                return status.value
            }) { url in
                let program = try self.start(emulator, home, "--forward-to", url)
                let greeting = try await self.next(program)
                #expect(greeting["listening"] == true && greeting["forwardTo"]?.string == url)
                let events = emulator.events()
                let operation = try await emulator.cloud.createOperation("login", userID: "alice")
                let line = try await self.next(program)
                #expect(line["status"] == 204 && line["failure"] == .null)
                #expect(line["callback"]?["operationId"]?.string == operation.id)
                for await event in events where event.kind == .delivery && event.status == "delivered" { break }
                #expect(emulator.deliveries().first?.status == 204)

                status.value = 500
                try await emulator.cloud.cancelOperation(operation.id)
                #expect(try await self.next(program)["status"] == 500)
                for await event in events where event.kind == .delivery && event.status == "failed" { break }
                #expect(bodies.value.map { $0["status"]?.string } == ["PENDING", "CANCELED"])

                // A reset takes the callbacks, and they are made anew.
                try await emulator.reset()
                for await _ in renewals where await emulator.hasListenerCallbacks { break }
                let registration = try await emulator.cloud.register(userID: "bob")
                #expect(try await self.next(program)["callback"]?["activationId"]?.string == registration.id)
                program.send(signal: SIGINT)
                #expect(await program.outcome().exitCode == 130)
            }
        }
    }

    @Test func itSurvivesARestartOfTheServerAndABankThatIsAway() async throws {
        let home = try TemporaryFolder()
        let (base, renewals) = Self.configuration()
        var configuration = base
        let first = try await Emulator.start(configuration: configuration)
        configuration.port = first.port
        let program = try self.start(first, home, "--forward-to", "http://127.0.0.1:1/")
        _ = try await self.next(program)
        try await first.cloud.createOperation("login", userID: "alice")
        let failed = try await self.next(program)
        #expect(failed["status"] == .null && failed["failure"] == "connectionFailed")
        await first.stop()
        let complaint = await program.nextErrorLine()
        #expect(complaint?.contains("trying again") == true, "\(complaint ?? "nothing")")
        let second = try await Emulator.start(configuration: configuration)
        for await _ in renewals where await second.hasListenerCallbacks { break }
        let operation = try await second.cloud.createOperation("login", userID: "bob")
        #expect(try await self.next(program)["callback"]?["operationId"]?.string == operation.id)
        program.send(signal: SIGTERM)
        #expect(await program.outcome().exitCode == 130)
        await second.stop()
    }

    @Test func whatGoesElsewhereIsForwardedOnlyIfAskedFor() async throws {
        let home = try TemporaryFolder()
        try await withEmulator { emulator in
            try await withCallbackReceiver({ _ in 200 }) { url in
                let program = try self.start(emulator, home, "--forward-to", url, "--all")
                _ = try await self.next(program)
                let words = ["emulator", "create", "login", "--callback-url", "http://127.0.0.1:1/elsewhere"]
                let environment = ["MOBILE_TOKEN_URL": emulator.baseURL]
                let created = try Program.start(words, home: home.url, environment: environment)
                #expect(await created.outcome().exitCode == 0)
                let ids = [try await self.next(program), try await self.next(program)].compactMap { $0["id"]?.int64 }
                #expect(ids == [1, 2])
                program.send(signal: SIGTERM)
                #expect(await program.outcome().exitCode == 130)
                // What the listener copied is the server's own delivery still.
                #expect(emulator.deliveries().first { $0.url.hasSuffix("elsewhere") }?.state == "failed")
            }
        }
    }

    @Test func whatWouldBePushedIsForwardedIfAskedFor() async throws {
        let bodies = Shared<[JSONValue]>([])
        let home = try TemporaryFolder()
        let (configuration, renewals) = Self.configuration()
        try await withEmulator(configuration) { emulator in
            try await withCallbackReceiver({ body in
                bodies.update { $0.append((try? JSONValue(parsing: body)) ?? .null) }
                return 200
            }) { url in
                let program = try self.start(emulator, home, "--forward-to", url, "--pushes")
                _ = try await self.next(program)
                for user in ["alice", "bob"] {
                    let activation = try await emulator.makeActivation(user: user, password: "1234")
                    try await PushService(activation: activation).register(token: "token of \(user)", for: .fcm)
                    let events = emulator.events()
                    let operation = try await emulator.cloud.createOperation("login", userID: user)
                    var line = try await self.next(program)
                    while line["push"] == nil { line = try await self.next(program) }
                    #expect(line["status"] == 200 && line["callback"] == nil)
                    #expect(line["push"]?["payload"]?["operationId"]?.string == operation.id)
                    #expect(line["push"]?["token"]?.string == "token of \(user)")
                    #expect(bodies.value.contains { $0 == line["push"] })
                    for await event in events where event.kind == .delivery && emulator.hasDeliveredPush { break }
                    // A reset takes the wish along, and it is uttered anew.
                    try await emulator.reset()
                    for await _ in renewals where await emulator.hasListenerCallbacks { break }
                }
                program.send(signal: SIGTERM)
                #expect(await program.outcome().exitCode == 130)
            }
        }
    }

    @Test(arguments: [
        [], ["--forward-to", "http://192.0.2.1/"], ["--forward-to", "ftp://127.0.0.1/"], ["--forward-to", "nothing"],
        ["--forward-to", "http://a:b@127.0.0.1/"], ["--forward-to", "http://127.0.0.1/", "--url", "http://192.0.2.1/"],
    ])
    func aWrongCallIsRefusedBeforeAnythingIsSent(_ words: [String]) async throws {
        let home = try TemporaryFolder()
        try await withEmulator { emulator in
            let environment = ["MOBILE_TOKEN_URL": emulator.baseURL]
            let program = try Program.start(["listen"] + words, home: home.url, environment: environment)
            #expect(await program.outcome().exitCode == 2)
            #expect(await emulator.hasListenerCallbacks == false)
        }
    }
}

extension Emulator {
    fileprivate var hasDeliveredPush: Bool {
        self.deliveries().contains { $0.state == "delivered" && $0.body.contains(#""type":"PUSH""#) }
    }

    /// Whether there are callbacks that listeners collect.
    fileprivate var hasListenerCallbacks: Bool {
        get async {
            String(decoding: (try? await self.exported()) ?? Data(), as: UTF8.self).contains("listener.invalid")
        }
    }
}
