import Coordination
import EmulatorMessages
import ExactJSON
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct FollowingTests {
    @Test(arguments: [
        "/journal?wait=61", "/journal?wait=-1", "/journal?wait=soon", "/journal?since=-1", "/journal?since=x",
        "/journal?before=5&wait=1",
    ])
    func aWrongQuestionIsRefused(path: String) async throws {
        try await withEmulator { emulator async throws in
            #expect(try await emulator.ask(path).status == 400)
        }
    }

    @Test func theNewestComeFirstUnlessOneFollows() async throws {
        try await withEmulator { emulator async throws in
            for _ in 0..<4 { try await emulator.cloud.createOperation("login", userID: "alice") }
            let orders: [(query: String, ids: [Int64])] = [
                ("", [4, 3, 2, 1]), ("?limit=2", [4, 3]), ("?before=3", [2, 1]), ("?before=4&limit=1", [3]),
                ("?since=0&limit=2", [1, 2]), ("?since=2", [3, 4]), ("?wait=1&limit=3", [1, 2, 3]),
            ]
            for (query, ids) in orders {
                let entries = try await emulator.ask("/journal" + query).body["entries"]?.array
                #expect(entries?.compactMap { $0["id"]?.int64 } == ids, "\(query)")
            }
        }
    }

    @Test func aResetForgetsWhatIsUnderWay() async throws {
        try await withEmulator { emulator async throws in
            let message = CallbackMessage(url: "x", body: [])
            let delivery = emulator.core.callbackQueue.change { $0.add(message, at: 0) }
            try await emulator.reset()
            let request = ReceivedRequest(method: "POST", path: "x")
            let (reply, failed) = (Reply(status: 0), Outbox.Outcome.noResponse(reason: "x"))
            await emulator.core.noteAttempt(delivery, request, reply, fault: nil, outcome: failed)
            await emulator.core.noteRequest(request, reply, delivery.id)
            #expect(await emulator.journal().isEmpty)
        }
    }

    @Test func oneWhoWaitsIsToldAtOnce() async throws {
        try await withEmulator { emulator in
            async let entries = emulator.ask("/journal?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await entries.body["entries"]?.array?.first?["path"] == "/v2/operations")
            // Nobody waits any more.
            while emulator.core.events.subscriberCount > 0 { await Task.yield() }
        }
    }

    @Test func aResetEndsTheWait() async throws {
        try await withEmulator { emulator in
            async let page = emulator.ask("/journal?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.reset()
            #expect(try await page.body["entries"] == [])
        }
    }

    @Test func numbersOfAnotherRunMeanNothing() async throws {
        try await withEmulator { emulator in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let all = try await emulator.ask("/journal").body
            let run = try #require(all["run"]?.string)
            #expect(try await emulator.ask("/journal?since=1&run=\(run)").body["entries"] == [])
            #expect(try await emulator.ask("/journal?since=1&run=another&wait=60").body["entries"]?.array?.count == 1)
            // A number that was never given is of another run, too: who waits with it would wait for ever.
            #expect(try await emulator.ask("/journal?since=9&wait=60").body["last"] == 1)
        }
    }

    @Test func noMoreWaitThanThereIsRoomFor() async throws {
        try await withEmulator(altered(.init()) { $0.capacity.eventStreams = 0 }) { emulator async throws in
            #expect(try await emulator.ask("/journal?wait=1").status == 503)
            #expect(try await emulator.ask("/journal").status == 200)
        }
    }
}
