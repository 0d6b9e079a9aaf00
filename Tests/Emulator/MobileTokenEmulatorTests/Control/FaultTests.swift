import APIDescriptions
import ExactJSON
import Foundation
import MobileTokenTesting
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    // MARK: Rules

    @Test(arguments: [
        ("/a/b", "/a/b", true), ("/a/b", "/a/bc", false), ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false),
        ("/a/*", "/a/", true), ("/a/**", "/a/b/c", true), ("/**/c", "/a/b/c", true), ("**", "", true),
        ("*", "/", false),
        ("/a?c", "/abc", true), ("/a?c", "/a/c", false), ("/*/x*z/**", "/q/xyz/1/2", true), ("", "", true),
        ("", "/", false),
        ("/a*b*c", "/aXbYc", true), ("/a*b*c", "/aXbY", false), ("/a***b", "/a/1/2/b", true), ("/a.c", "/abc", false),
    ])
    func patternsMatchPaths(pattern: String, path: String, matches: Bool) {
        #expect(PathPattern(pattern).matches(path) == matches)
    }

    @Test func aPatternOfManyStarsTakesNoLongTime() {
        let pattern = PathPattern(String(repeating: "*a", count: 100) + "b")
        #expect(!pattern.matches(String(repeating: "a", count: 1000)))
    }

    private func strikes(_ rules: [FaultRule], _ requests: [(method: String, path: String, activation: String?)])
        -> [String?]
    {
        var injector = FaultInjector()
        injector.rules = rules
        var random = SeededRandomness(seed: 7)
        return requests.map {
            injector.fault(method: $0.method, path: $0.path, activationID: $0.activation, using: &random)?.name
        }
    }

    @Test func allThatIsSetMustMatch() {
        let rule = FaultRule(match: .init(method: "post", path: "/pa/**", activation: "A"), effect: .init(status: 500))
        #expect(
            self.strikes(
                [rule],
                [("POST", "/pa/v3/x", "A"), ("GET", "/pa/v3/x", "A"), ("POST", "/api", "A"), ("POST", "/pa/x", nil)]
            ) == ["fault 1", nil, nil, nil]
        )
    }

    /// Number 51, spot 9: to find whose a request is, all of it is executed on a copy. That is done once for a request, and only
    /// if a rule that matches it otherwise names an activation.
    @Test(
        arguments: [
            ([.init()], 0), ([.init(path: "/b", activation: "A")], 0),
            ([.init(activation: "A"), .init(activation: "B")], 1),
        ] as [([FaultRule.Match], Int)]
    )
    func whoseARequestIsIsLookedUpOnceAtMost(matches: [FaultRule.Match], count: Int) {
        var (injector, random, lookups) = (FaultInjector(), SeededRandomness(seed: 7), 0)
        injector.rules = matches.map { FaultRule(match: $0, effect: .init(status: 500)) }
        func lookUp() -> String? {
            lookups += 1
            return nil
        }
        _ = injector.fault(method: "GET", path: "/a", activationID: lookUp(), using: &random)
        #expect(lookups == count)
    }

    @Test func aRuleMayNameTheContextPath() {
        let effect = FaultRule.Effect(status: 500)
        let rules = [FaultRule(match: .init(path: "/enrollment-server/pa/*"), effect: effect)]
        #expect(self.strikes(rules, [("POST", "/pa/a", nil), ("POST", "/api/a", nil)]) == ["fault 1", nil])
    }

    @Test func requestsAreCountedForEachRule() {
        let rules = [
            FaultRule(name: "second", match: .init(path: "/a", nth: 2), effect: .init(status: 500)),
            FaultRule(name: "beginning", match: .init(first: 2), effect: .init(status: 500)),
        ]
        let requests: [(String, String, String?)] = [
            ("GET", "/a", nil), ("GET", "/b", nil), ("GET", "/a", nil), ("GET", "/a", nil),
        ]
        #expect(self.strikes(rules, requests) == ["beginning", "beginning", "second", nil])
    }

    @Test func aRuleMayStrikeByChance() {
        let requests = Array(repeating: ("GET", "/", String?.none), count: 1000)
        let rule = FaultRule(match: .init(probability: 0.25), effect: .init(status: 500))
        let struck = self.strikes([rule], requests).count { $0 != nil }
        #expect((200...300).contains(struck))  // the seed is fixed
        #expect(self.strikes([.init(match: .init(probability: 0), effect: .init())], requests).allSatisfy { $0 == nil })
        #expect(self.strikes([.init(match: .init(probability: 1), effect: .init())], requests).allSatisfy { $0 != nil })
    }

    @Test(arguments: [
        #"{"rules":[{"match":{"paht":"/a"},"effect":{}}]}"#, #"{"rules":[{"effect":{"stauts":500}}]}"#,
        #"{"rules":[{"match":{}}]}"#, #"{"rules":[{"effect":{"status":99}}]}"#,
        #"{"rules":[{"effect":{"reset":"now"}}]}"#,
        #"{"rules":[{"match":{"nth":0},"effect":{}}]}"#, #"{"rules":[{"match":{"probability":2},"effect":{}}]}"#,
        #"{"rules":[{"effect":{"drip":0}}]}"#, #"{"rules":[{"effect":{"delay":-1}}]}"#, #"{"rules":{}}"#, "[]",
        #"{"rules":[{"effect":{},"when":1}]}"#, #"{"rules":[{"effect":{"code":"X"}}]}"#,
    ])
    func aRuleThatIsNotUnderstoodIsRefused(body: String) async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.set([FaultRule(name: "kept", effect: .init(delay: 0))])
            let response = try await emulator.send("PUT", "/_emulator/faults", body: body)
            #expect(response.status == 400)
            #expect(response.text.contains("INVALID_REQUEST"))
            #expect(await emulator.faults.rules.map(\.name) == ["kept"])
        }
    }

    /// An effect that may be.
    private static let outage = #""status":500"#

    @Test(arguments: [
        ("", "", "'effect' does nothing"),
        (#""nth":3,"first":2"#, outage, "'match.nth' is 3, which is never among the first 2"),
        (#""probability":0"#, outage, "'match.probability' is 0: no request would be struck"),
        (#""method":"PSOT""#, outage, "did you mean 'POST'?"),
        (#""path":"pa/v3/**""#, outage, "'match.path' begins with neither a slash nor"),
        (#""path":"/_emulator/clock""#, outage, "'match.path' is one of the control API, which is never struck"),
        (#""path":"/health""#, outage, "'match.path' is one of the server's pages, which is never struck"),
        (#""path":"/spaces/*/v2/**""#, outage, "'match.path' leads into a space, whose own paths begin after '*'"),
        (#""path":"*""#, outage, "'match.path' fits no path: * is anything but a slash"),
        (#""path":"/v2/operations?userId=a""#, outage, "'match.path' has a query"),
        (#""path":"http://b/**""#, #""body":"garbage""#, "'effect.body' does nothing to a callback"),
        (#""path":"*://b/**""#, #""late":1,"status":500"#, "'effect.late' does nothing to a callback"),
        (#""path":"*://b/**""#, #""drip":1"#, "'effect.drip' does nothing to a callback"),
        (#""path":"https://b/""#, #""status":500,"retryAfter":1"#, "'effect.retryAfter' does nothing to a callback"),
        (#""path":"http://b/""#, #""contentType":"a""#, "'effect.contentType' does nothing to a"),
        (#""path":"http://b/""#, #""clockSkew":1"#, "'effect.clockSkew' does nothing to a callback"),
        (#""path":"http://b/","method":"GET""#, #""delay":1"#, "'match.method' is not that of"),
        (#""path":"http://b/","activation":"a""#, #""delay":1"#, "'match.activation' is of no"),
        ("", #""delay":0"#, "'effect.delay' is 0, which does nothing"),
        ("", #""status":500,"delay":0"#, "'effect.delay' is 0, which does nothing"),
        ("", #""clockSkew":0"#, "'effect.clockSkew' is 0, which does nothing"),
        ("", #""contentType":"""#, "'effect.contentType' cannot be sent"),
        ("", #""contentType":"text/plain\r\nX: y""#, "'effect.contentType' cannot be sent"),
        ("", #""contentType":"ž""#, "'effect.contentType' cannot be sent"),
        ("", #""delay":1,"jitter":0"#, "'effect.jitter' is 0, which does nothing"),
        ("", #""reset":"after","status":500"#, "'effect.status' does nothing where the connection is reset"),
        ("", #""reset":"before","body":"garbage""#, "'effect.body' does nothing where the connection is reset"),
        ("", #""status":500,"clockSkew":1"#, "'effect.clockSkew' does nothing where the request is not looked at"),
    ])
    func aRuleThatCannotWorkIsRefused(match: String, effect: String, reason: String) async throws {
        try await withEmulator { emulator async throws in
            let rule = (match.isEmpty ? "" : #""match":{\#(match)},"#) + #""effect":{\#(effect)}"#
            let response = try await emulator.send("POST", "/_emulator/faults", body: "{\(rule)}")
            #expect(response.status == 400)
            #expect(response.text.contains(reason), "\(response.text)")
            #expect(await emulator.faults.rules.isEmpty)
        }
    }

    @Test func oneRuleIsRemovedByItsName() async throws {
        try await withEmulator { emulator async throws in
            for name in ["a", "b"] { await emulator.faults.add(FaultRule(name: name, effect: .init(status: 503))) }
            #expect(try await emulator.send("DELETE", "/_emulator/faults?name=c").status == 404)
            #expect(try await emulator.send("DELETE", "/_emulator/faults?name=a").status == 200)
            #expect(await emulator.faults.rules.map(\.name) == ["b"])
            #expect(try await emulator.send("DELETE", "/_emulator/faults").status == 200)
            #expect(await emulator.faults.rules.isEmpty)
        }
    }

    @Test func matchesAndStrikesAreCounted() async throws {
        try await withEmulator { emulator in
            let effect = FaultRule.Effect(status: 503)
            let rules = [
                FaultRule(name: "busy", match: .init(path: "/pa/**", first: 1), effect: effect),
                FaultRule(match: .init(path: "/**", nth: 2), effect: effect),
                FaultRule(name: "never", match: .init(method: "DELETE"), effect: effect),
            ]
            await emulator.faults.set(rules)
            for _ in 1...3 { try await emulator.send("POST", "/pa/v3/status", body: "{}") }
            let counts = [
                FaultRule.Count(name: "busy", matched: 3, struck: 1, waiting: 0),
                .init(name: "fault 2", matched: 3, struck: 1, waiting: 0),
                .init(name: "never", matched: 0, struck: 0, waiting: 0),
            ]
            #expect(await emulator.faults.counts == counts)
            let told = try await emulator.send("GET", "/_emulator/faults")
            #expect(try FaultRules(json: JSONValue(parsing: Array(told.body))).counts == counts)
            // The rules that were told can be sent back; the counts start anew.
            let set = try await emulator.send("PUT", "/_emulator/faults", body: told.text)
            #expect(set.status == 200)
            #expect(await emulator.faults.rules == rules)
            #expect(await emulator.faults.counts.map(\.matched) == [0, 0, 0])
        }
    }

    @Test func noDefaultNameIsGivenTwice() {
        var (injector, random) = (FaultInjector(), SeededRandomness(seed: 7))
        for path in ["/a", "/b"] { injector.append(FaultRule(match: .init(path: path), effect: .init(status: 500))) }
        injector.remove(named: "fault 1")
        injector.append(FaultRule(match: .init(path: "/c"), effect: .init(status: 500)))
        let names = ["/b", "/c"].map {
            injector.fault(method: "GET", path: $0, activationID: nil, using: &random)?.name
        }
        #expect(names == ["fault 2", "fault 3"])
        injector.remove(named: "fault 2")
        #expect(injector.rules.map(\.match.path) == ["/c"])
    }

    @Test func aDefaultNameIsNoRulesOwnAndRulesThatShareANameAreRemovedTogether() {
        var injector = FaultInjector()
        for (name, path) in [("fault 2", "/a"), (nil, "/b"), ("outage", "/c"), ("outage", "/d"), (nil, "/e")] {
            injector.append(FaultRule(name: name, match: .init(path: path), effect: .init(status: 500)))
        }
        #expect(injector.counts.map(\.name) == ["fault 2", "fault 3", "outage", "outage", "fault 6"])
        injector.remove(named: "outage")
        #expect(injector.rules.map(\.match.path) == ["/a", "/b", "/e"])
    }

    @Test func aSkewedClockLetsNothingFallDue() async throws {
        try await withEmulator { emulator async throws in
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            let registration = try await emulator.cloud.register(userID: "bob")
            let state = try await emulator.exported()
            await emulator.faults.set([FaultRule(match: .init(path: "/pa/v3/status"), effect: .init(clockSkew: 1e6))])
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
            #expect(await emulator.operations().first { $0.id == operation.id }?.status == .pending)
            #expect(await emulator.activations().first { $0.id == registration.id }?.status == .created)
            #expect(try await emulator.exported() == state)
        }
    }

    @Test func rulesAreSetAddedAndRemovedOverHTTP() async throws {
        try await withEmulator { emulator async throws in
            let rule =
                #"{"name":"busy","match":{"method":"GET","path":"/a/**"},"effect":{"status":503,"retryAfter":3}}"#
            try await emulator.send("PUT", "/_emulator/faults", body: #"{"rules":[\#(rule)]}"#)
            let counts = #"[{"name":"busy","matched":0,"struck":0,"waiting":0}]"#
            let told = try await emulator.send("GET", "/_emulator/faults")
            #expect(told.text == #"{"rules":[\#(rule)],"counts":\#(counts)}"#)
            let response = try await emulator.send("GET", "/a/b")
            #expect(response.status == 503)
            #expect(response.headers["retry-after"] == "3")
            #expect(await emulator.journal().last?.fault == "busy")
            #expect(try await emulator.send("POST", "/b").status == 404)
            try await emulator.send("POST", "/_emulator/faults", body: #"{"effect":{"status":500}}"#)
            #expect(try await emulator.send("POST", "/b").status == 500)
            try await emulator.send("DELETE", "/_emulator/faults")
            #expect(try await emulator.send("GET", "/a/b").status == 404)
        }
    }

    /// A server behind the real one that does not answer: no request alone brings that about here.
    @Test(.wireFact("4.3")) func aFaultMayNameTheErrorsCode() async throws {
        try await withEmulator { emulator async throws in
            let rule = #"{"effect":{"status":409,"code":"REMOTE_COMMUNICATION_ERROR"}}"#
            #expect(try await emulator.send("POST", "/_emulator/faults", body: rule).status == 200)
            let response = try await emulator.send("POST", "/api/auth/token/app/operation/list", body: "{}")
            #expect(response.status == 409 && response.text.contains(#""code":"REMOTE_COMMUNICATION_ERROR""#))
        }
    }

    @Test func theControlPlaneIsNeverStruck() async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.add(FaultRule(effect: .init(reset: .before)))
            #expect(try await emulator.send("GET", "/_emulator/clock").status == 200)
        }
    }

    // MARK: Effects

    private func withFault<Result>(_ effect: FaultRule.Effect, _ body: (Emulator) async throws -> Result) async throws
        -> Result
    {
        try await withEmulator { emulator async throws in
            await emulator.faults.add(FaultRule(match: .init(path: "/struck/**"), effect: effect))
            return try await body(emulator)
        }
    }

    @Test func aDelayedRequestDoesNotHoldUpOthersNorStopping() async throws {
        try await self.withFault(.init(delay: 3600)) { emulator async throws in
            let client = try RawConnection(port: emulator.port)
            try await client.send("GET /struck/ HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await emulator.send("GET", "/other").status == 404)
            await emulator.stop()
            _ = await client.readUntilEnd()
        }
    }

    @Test(arguments: [FaultRule.Effect.Moment.before, .after])
    func aConnectionIsReset(when: FaultRule.Effect.Moment) async throws {
        try await self.withFault(.init(reset: when)) { emulator async throws in
            let client = try RawConnection(port: emulator.port)
            try await client.send("GET /struck/ HTTP/1.1\r\nHost: x\r\n\r\n")
            let (bytes, end) = await client.readUntilEnd()
            #expect(bytes.isEmpty)
            #expect(end == .reset)
            // Only the backend says why it refuses an unknown path.
            let refusal = await emulator.journal().last?.refusal
            #expect((refusal == "fault") == (when == .before))
        }
    }

    @Test func aBodyIsTruncated() async throws {
        try await self.withFault(.init(body: .truncated)) { emulator async throws in
            let client = try RawConnection(port: emulator.port)
            try await client.send("GET /struck/ HTTP/1.1\r\nHost: x\r\n\r\n")
            let text = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            let parts = text.components(separatedBy: "\r\n\r\n")
            let whole = try await emulator.send("GET", "/whole").body.count
            #expect(parts[0].contains("Content-Length: \(whole)"))
            #expect(parts[1].utf8.count == whole / 2)
        }
    }

    @Test func aBodyIsGarbage() async throws {
        try await self.withFault(.init(body: .garbage)) { emulator async throws in
            let response = try await emulator.send("GET", "/struck/")
            #expect(response.headers["content-type"] == "application/json")
            #expect(throws: (any Error).self) { try response.json(as: [String: Any].self) }
        }
    }

    @Test func aContentTypeIsWrong() async throws {
        try await self.withFault(.init(contentType: "text/html")) { emulator async throws in
            let response = try await emulator.send("GET", "/struck/")
            #expect(response.headers["content-type"] == "text/html")
            #expect(response.status == 404)
        }
    }

    @Test func aBodyDrips() async throws {
        try await self.withFault(.init(drip: 1000)) { emulator async throws in
            let whole = try await emulator.send("GET", "/whole")
            let clock = ContinuousClock()
            let duration = try await clock.measure {
                let slow = try await emulator.send("GET", "/struck/")
                #expect(slow.body.count == whole.body.count)
            }
            #expect(duration >= .milliseconds(whole.body.count - 100))
        }
    }

    @Test func effectsCombine() async throws {
        let effect = FaultRule.Effect(
            status: 429,
            retryAfter: 9,
            body: .garbage,
            contentType: "text/plain",
            drip: 100_000
        )
        try await self.withFault(effect) { emulator async throws in
            let response = try await emulator.send("GET", "/struck/")
            #expect(response.status == 429)
            #expect(response.headers["retry-after"] == "9")
            #expect(response.headers["content-type"] == "text/plain")
            #expect(response.text == #"{"status":"OK","responseObject":[{"#)
        }
    }
}
