import Coordination
import ExactJSON
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The journal is asked for what a test asserts.
@Suite(.timeLimit(.minutes(5))) struct JournalFilterTests {
    /// Makes six entries: an operation of alice, one of bob, one that is refused, one that a fault strikes, two of a device.
    private func fill(_ emulator: Emulator) async throws -> (activation: String, operation: String) {
        let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
        try await emulator.cloud.createOperation("login", userID: "bob")
        try await emulator.send("GET", "/nothing")
        await emulator.faults.add(FaultRule(name: "busy", match: .init(path: "/pa/**"), effect: .init(status: 503)))
        try await emulator.send("POST", "/pa/v3/status", body: "{}")
        await emulator.faults.removeAll()
        let events = emulator.events()
        let device = try await emulator.makeDevice(userID: "carol", name: "Carol's", rule: .init(.never))
        // It is made, and it has looked for operations.
        var iterator = events.filter { $0.kind == .virtualDevice }.makeAsyncIterator()
        for _ in 1...2 { _ = await iterator.next() }
        return (device.id, operation)
    }

    @Test func filtersCombine() async throws {
        try await withEmulator { emulator in
            let (activation, operation) = try await self.fill(emulator)
            let all = await emulator.journal()
            let ofDevice = UInt64(all.count { $0.deviceName != nil })
            #expect(all.count > 6 && ofDevice > 0 && all.filter { $0.userID == "carol" }.count > 1)
            let expected: [(query: String, isMeant: (Emulator.JournalEntry) -> Bool)] = [
                ("method=get", { $0.id == 3 }), ("path=/v2/operations", { $0.id <= 2 }),
                ("path=/enrollment-server/pa/v3/stat*", { $0.id == 4 }), ("status=503", { $0.id == 4 }),
                ("status=5xx", { $0.id == 4 }), ("status=400-404", { $0.id == 3 }),
                ("status=0", { _ in false }), ("verdict=refused", { [3, 4].contains($0.id) }),
                ("verdict=refused&status=4xx", { $0.id == 3 }), ("userId=alice", { $0.id == 1 }),
                ("userId=bob", { $0.id == 2 }),
                ("userId=carol", { $0.activationID == activation }),
                ("activationId=\(activation)", { $0.activationID == activation }),
                ("operationId=\(operation)", { $0.id == 1 }), ("fault=busy", { $0.id == 4 }),
                ("fault=busy&verdict=accepted", { _ in false }), ("device=Carol's", { $0.deviceName != nil }),
                ("deliveryId=1", { _ in false }),
            ]
            for (query, isMeant) in expected {
                let ids = all.filter(isMeant).map { Int64($0.id) }
                let page = try await emulator.ask("/journal?\(query)").body
                #expect(page["entries"]?.array?.compactMap { $0["id"]?.int64 } == ids.reversed(), "\(query)")
                #expect(page["last"]?.int64 == Int64(all.count))
                let followed = try await emulator.ask("/journal?since=0&\(query)").body["entries"]?.array
                #expect(followed?.compactMap { $0["id"]?.int64 } == ids, "\(query)")
                let count = try await emulator.ask("/journal/count?\(query)").body
                #expect(count == ["count": .number(JSONNumber(ids.count))], "\(query)")
            }
        }
    }

    /// The questions of the bank, and the callbacks to it, are about an operation and a user, too.
    @Test func theBanksRequestsAndItsCallbacksAreFound() async throws {
        try await withEmulator { emulator in
            try await withCallbackReceiver({ _ in 200 }) { url in
                let body = #"{"userId": "alice", "template": "none"}"#
                #expect(try await emulator.bank("POST", "/v2/operations", body).status == 400)
                try await emulator.cloud.createCallback(.init(name: "bank", url: url))
                let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
                for (method, path) in [
                    ("GET", "/v2/operations/\(operation)"), ("GET", "/v2/operations?userId=alice"),
                    ("DELETE", "/v2/operations/\(operation)"), ("DELETE", "/v2/operations/\(operation)"),
                    ("GET", "/v2/operations?userId=bob"),
                ] {
                    try await emulator.bank(method, path)
                }
                try await emulator.settle(within: .seconds(30))
                func found(_ filter: Emulator.JournalFilter) async throws -> [String] {
                    try await emulator.journal(matching: filter).map { "\($0.method) \($0.status)" }.sorted()
                }
                let aboutIt = ["DELETE 200", "DELETE 400", "GET 200", "GET 200", "POST 200", "POST 200", "POST 200"]
                #expect(try await found(.init(operationID: operation)) == aboutIt)
                #expect(try await found(.init(userID: "alice")) == aboutIt + ["POST 400"])
                #expect(try await found(.init(userID: "bob")) == ["GET 200"])
                let told = await emulator.history(ofOperation: operation).filter { $0.deliveryID == nil }
                #expect(told.map(\.kind) == [.created, .canceled])
            }
        }
    }

    @Test func theSameFilterIsAValue() async throws {
        try await withEmulator { emulator in
            let (activation, _) = try await self.fill(emulator)
            #expect(try await emulator.journal(matching: .init(status: 400...499, verdict: .refused)).map(\.id) == [3])
            #expect(try await emulator.journal(matching: .init(path: "/v2/operations"), since: 1).map(\.id) == [2])
            let ofDevice = try await emulator.journal(matching: .init(activationID: activation, deviceName: "Carol's"))
            #expect(!ofDevice.isEmpty && ofDevice.allSatisfy { $0.userID == "carol" })
        }
    }

    @Test(arguments: [
        ("staus=404", "'staus' is not known here; did you mean 'status'?"),
        ("status=4x", "'status' is no status, no class of them such as 4xx, and no range such as 400-404"),
        ("status=600", "'status' is no status"), ("status=6xx", "'status' is no status"),
        ("status=404-400", "'status' is no status"), ("status=99", "'status' is no status"),
        ("status=", "'status' is empty"), ("status=-", "'status' is no status"),
        ("method=PSOT", "'method' is none of HTTP's; did you mean 'POST'?"),
        ("path=pa/v3", "'path' begins with neither a slash nor * nor **, as 'pa/v3' does not"),
        ("path=*", "'path' fits no path: * is anything but a slash, ** is anything"),
        ("path=/v2/operations%3FuserId=a", "'path' has a query, which is no part of the path"),
        ("path=/_emulator/clock", "'path' is one of the control API, which is not in the journal"),
        ("verdict=rejected", "'verdict' is none of accepted, refused"), ("userId=", "'userId' is empty"),
        ("deliveryId=x", "'deliveryId' is not a whole number"), ("userId=a&userId=b", "'userId' is given twice"),
    ])
    func whatFindsNothingForSureIsRefusedByItsName(query: String, reason: String) async throws {
        try await withEmulator { emulator in
            for path in ["/journal?", "/journal/count?"] {
                let (status, body) = try await emulator.ask(path + query)
                #expect(status == 400)
                #expect(body["responseObject"]?["message"]?.string?.hasPrefix(reason) == true, "\(body)")
            }
        }
    }

    @Test func whatFindsNothingForSureIsRefusedInSwift() async throws {
        try await withEmulator { emulator in
            for filter in [
                Emulator.JournalFilter(method: "PSOT"), .init(path: "pa/v3"), .init(path: "/_emulator/clock"),
                .init(status: 600...700),
            ] {
                let error = await #expect(throws: EmulatorError.self) { try await emulator.journal(matching: filter) }
                #expect(error?.code == .invalidConfiguration)
            }
        }
    }

    /// Number 25: a pattern costs what its own length and that of the paths cost, and has at most 1 024 characters.
    @Test func aPatternOfManyAsterisksHoldsNobodyUp() async throws {
        let pattern = "/" + String(repeating: "a*", count: 2_000) + "b"
        try await withEmulator { emulator in
            let (status, body) = try await emulator.ask("/journal?path=\(pattern)")
            #expect(status == 400, "\(body)")
        }
        let parsed = PathPattern(pattern)
        let path = "/" + String(repeating: "a", count: 4_000)
        for _ in 0..<50 { #expect(!parsed.matches(path)) }
        #expect(parsed.matches(path + "b") && !parsed.matches(path + "/b"))
    }

    /// Matches one character after the other.
    private static func matches(_ pattern: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        let slash = UInt8(ascii: "/")
        guard first == UInt8(ascii: "*") else {
            guard let byte = path.first, byte == first || first == UInt8(ascii: "?") && byte != slash else {
                return false
            }
            return Self.matches(pattern.dropFirst(), path.dropFirst())
        }
        let rest = pattern.drop { $0 == UInt8(ascii: "*") }
        let isAnything = pattern.count - rest.count > 1
        for end in path.startIndex...path.endIndex {
            if !isAnything, path[..<end].contains(slash) { return false }
            if Self.matches(rest, path[end...]) { return true }
        }
        return false
    }

    @Test func patternsMatchAsTheyAreRead() {
        var randomness = SeededGenerator()
        let letters = Array("ab/*?".utf8)
        for _ in 0..<5_000 {
            let pattern = (0..<Int.random(in: 0...8, using: &randomness)).map { _ in
                letters[Int.random(in: 0...4, using: &randomness)]
            }
            let path = (0..<Int.random(in: 0...8, using: &randomness)).map { _ in
                letters[Int.random(in: 0...2, using: &randomness)]
            }
            let (text, other) = (String(decoding: pattern, as: UTF8.self), String(decoding: path, as: UTF8.self))
            #expect(PathPattern(text).matches(other) == Self.matches(pattern[...], path[...]), "\(text) and \(other)")
        }
        // Across the words of bits.
        for count in 60...70 {
            let text = String(repeating: "a", count: count)
            #expect(PathPattern("*\(text)**b?").matches("x\(text)/b/bc"))
            #expect(PathPattern("\(text)*").matches(text) && !PathPattern("\(text)*").matches("\(text)/"))
        }
    }

    @Test func oneEntryIsShownByItsNumber() async throws {
        try await withEmulator { emulator in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let (status, body) = try await emulator.ask("/journal/1")
            #expect(status == 200 && body["userId"] == "alice" && body["operationIds"]?.array?.count == 1)
            for id in ["2", "x", "-1"] { #expect(try await emulator.ask("/journal/\(id)").status == 404) }
        }
    }

    @Test func whatAFilterLeavesOutDoesNotEndTheWait() async throws {
        try await withEmulator { emulator in
            async let page = emulator.ask("/journal?wait=60&userId=bob")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            for user in ["alice", "bob"] { try await emulator.cloud.createOperation("login", userID: user) }
            #expect(try await page.body["entries"]?.array?.compactMap { $0["id"]?.int64 } == [2])
        }
    }
}
