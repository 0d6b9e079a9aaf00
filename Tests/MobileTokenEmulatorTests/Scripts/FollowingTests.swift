import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// Programs follow the journal.
@Suite(.timeLimit(.minutes(1))) struct FollowingTests {
    private func json(_ emulator: Emulator, _ method: String = "GET", _ path: String, _ body: String? = nil)
        async throws
        -> (status: Int, body: JSONValue)
    {
        let response = try await emulator.send(method, "/_emulator" + path, body: body)
        return (response.status, try JSONValue(parsing: Array(response.body)))
    }

    @Test(arguments: [
        "/journal?wait=61", "/journal?wait=-1", "/journal?wait=soon", "/journal?since=-1", "/journal?since=x",
    ])
    func aWrongQuestionIsRefused(path: String) async throws {
        try await withEmulator { emulator async throws in
            #expect(try await self.json(emulator, "GET", path).status == 400)
        }
    }

    @Test func oneWhoWaitsIsToldAtOnce() async throws {
        try await withEmulator { emulator in
            async let entries = self.json(emulator, "GET", "/journal?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await entries.body["entries"]?.array?.first?["path"] == "/v2/operations")
            // Nobody waits any more.
            while emulator.core.events.subscriberCount > 0 { await Task.yield() }
        }
    }

    @Test func aResetEndsTheWait() async throws {
        try await withEmulator { emulator in
            async let page = self.json(emulator, "GET", "/journal?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.reset()
            #expect(try await page.body["entries"] == [])
        }
    }

    @Test func numbersOfAnotherRunMeanNothing() async throws {
        try await withEmulator { emulator in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let all = try await self.json(emulator, "GET", "/journal").body
            let run = try #require(all["run"]?.string)
            #expect(try await self.json(emulator, "GET", "/journal?since=1&run=\(run)").body["entries"] == [])
            let other = try await self.json(emulator, "GET", "/journal?since=1&run=another&wait=60").body
            #expect(other["entries"]?.array?.count == 1)
            // A number that was never given is of another run, too: who waits with it would wait for ever.
            #expect(try await self.json(emulator, "GET", "/journal?since=9&wait=60").body["last"] == 1)
        }
    }

    @Test func noMoreWaitThanThereIsRoomFor() async throws {
        var configuration = Emulator.Configuration()
        configuration.capacity.eventStreams = 0
        try await withEmulator(configuration) { emulator async throws in
            #expect(try await self.json(emulator, "GET", "/journal?wait=1").status == 503)
            #expect(try await self.json(emulator, "GET", "/journal").status == 200)
        }
    }
}
