import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// A service that is told to end while the server makes an activation.
@Suite(.timeLimit(.minutes(5))) struct InterruptedActivationTests {
    @Test func runReturnsOnlyWhenTheActivationIsInTheStore() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            let door = Door()
            let transport = try InterceptingTransport { request, deliver in
                let response = try await deliver(request)
                if request.url.hasSuffix("/activation/create") { await door.pass() }
                return response
            }
            let client = try emulator.makeClient {
                $0.transport = transport
                $0.store = ActivationStore.sqlite(path: path)
            }
            let registration = try await emulator.cloud.register(userID: "alice")
            let running = Task { try await client.run() }
            let activating = Task {
                try await client.activate(code: registration.activationCode, password: password)
            }
            await door.waitForVisitors()
            #expect(await emulator.activations().first?.status == .pendingCommit)
            // SIGTERM: everything is canceled at once.
            activating.cancel()
            running.cancel()
            await #expect(throws: CancellationError.self) { try await activating.value }
            for _ in 0..<1_000 { await Task.yield() }
            door.open()
            try await running.value
            // The records that the process has written when it ends.
            let ids = try await ActivationStore.sqlite(path: path).activationIDs()
            #expect(ids == (await emulator.activations().map(\.id)))
        }
    }
}
