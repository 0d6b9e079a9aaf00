import EmulatorHTTP
import Foundation
import MobileTokenTesting
import Testing

/// Requests that end before they are whole, and answers that nobody waits for.
@Suite(.timeLimit(.minutes(5))) struct InterruptionTests {
    private func request(_ emulator: Emulator) -> [UInt8] {
        let body = #"{"template": "payment", "userId": "alice", "parameters": {"amount": "12.50"}}"#
        let head = """
            POST /v2/operations HTTP/1.1\r
            Host: localhost\r
            \(emulator.authorization)\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r

            """
        return Array((head + body).utf8)
    }

    @Test func aRequestThatEndsAtAnyByteChangesNothing() async throws {
        try await withEmulator { emulator async throws in
            let request = self.request(emulator)
            let before = try await emulator.exported()
            for end in 0..<request.count {
                let client = try RawConnection(port: emulator.port)
                try await client.send(Array(request[..<end]))
                // Half of them just go, the others say that they are done and wait.
                if end.isMultiple(of: 2) { client.finishSending() }
            }
            // A whole request that comes after all of them is answered.
            let client = try RawConnection(port: emulator.port)
            try await client.send("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.response().status == 404)
            #expect(try await emulator.exported() == before)
            #expect(await emulator.journal().map(\.path) == ["/nothing"])

            try await client.send(request)
            #expect(try await client.response().status == 200)
            #expect(await emulator.operations().count == 1)
        }
    }

    @Test func aRequestThatIsWholeCountsThoughNobodyWaitsForTheAnswer() async throws {
        try await withEmulator { emulator async throws in
            var events = emulator.events().makeAsyncIterator()
            let request = self.request(emulator)
            for count in 1...20 {
                do {
                    let client = try RawConnection(port: emulator.port)
                    try await client.send(request)
                }  // gone
                while let event = await events.next(), event.kind != .request {}
                #expect(await emulator.operations().count == count)
            }
        }
    }

    @Test func connectionsThatEndAtAnyMomentLeaveNothingBehind() async throws {
        var limits = HTTPServer.Limits()
        limits.patience = .seconds(3600)  // nothing ends because its time is up
        let server = try HTTPServer(host: "127.0.0.1", port: 0, limits: limits)
        let service = Task { await server.run(Echo.answer) }
        let request = Array(Echo.post.utf8)
        for round in 0..<3 {
            for end in 0...request.count {
                let client = try RawConnection(port: server.port)
                try await client.send(Array(request[..<end]))
                if round == 1 { client.finishSending() }
                if round == 2 { client.reset() }
            }
        }
        try await server.expectService()
        #expect(await server.becomesEmpty())
        service.cancel()
        await service.value
    }
}
