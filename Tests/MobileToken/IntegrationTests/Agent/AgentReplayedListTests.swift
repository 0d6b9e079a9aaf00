import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// Somebody on the way plays an old list again after the agent has decided.
@Suite(.timeLimit(.minutes(5))) struct AgentReplayedListTests {
    private let clock = ManualClock()
    private let traffic = Traffic()

    @Test func anOperationThatWasDecidedHereIsAskedForAndNotSignedAgain() async throws {
        try await withEmulator { emulator async throws in
            let (old, isDecided, emptied) = (Shared<HTTPResponse?>(nil), Shared(false), Shared(false))
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.transport = try self.traffic.transport { request, deliver in
                    let response = try await deliver(request)
                    guard request.url.hasSuffix("/operation/list") else { return response }
                    let hasOperation = String(decoding: response.body, as: UTF8.self).contains("operationCreated")
                    if hasOperation { old.value = response }
                    // First the true list, which makes the agent forget the operation; then the old one.
                    guard isDecided.value, let replayed = old.value else { return response }
                    guard emptied.value else {
                        emptied.value = true
                        return response
                    }
                    return replayed
                }
            }
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await self.traffic.run(.patient(for: client.makeFleet()), self.clock) { events in
                _ = try await emulator.cloud.createOperation("payment", userID: "alice")
                await expect("decided: approve", in: &events)
                isDecided.value = true
                await expect("finished elsewhere", in: &events)
            }
            #expect(await emulator.requests(to: "**/operation/authorize").count == 1)
        }
    }
}
