import Coordination
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenTesting
import PowerAuthCrypto
import TestSupport
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct EmulatorTests {
    @Test func itListensOnAFreeLoopbackPort() async throws {
        try await withEmulator { emulator async throws in
            #expect(emulator.baseURL == "http://127.0.0.1:\(emulator.port)/enrollment-server")
            #expect(emulator.port != 0)
            let other = try await Emulator.start()
            #expect(other.port != emulator.port)
            await other.stop()
        }
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() async throws {
        try await withEmulator { emulator async throws in
            var configuration = Emulator.Configuration()
            configuration.port = emulator.port
            let error = await #expect(throws: EmulatorError.self) {
                try await Emulator.start(configuration: configuration)
            }
            #expect(error?.code == .addressInUse)
        }
    }

    @Test func aPasswordIsMadeWhenNoneIsGiven() async throws {
        try await withEmulator { emulator async throws in
            #expect(emulator.cloudPassword.count >= 32)
            try await withEmulator { other in #expect(other.cloudPassword != emulator.cloudPassword) }
        }
    }

    @Test func aSeedFixesTheApplication() async throws {
        func application(seed: UInt64?) async throws -> [String] {
            try await withEmulator(altered(Emulator.Configuration()) { $0.seed = seed }) {
                [
                    $0.applicationKey, $0.applicationSecret, $0.masterServerPublicKey, $0.sdkConfiguration,
                    $0.cloudPassword,
                ]
            }
        }
        let first = try await application(seed: 1)
        #expect(try await application(seed: 1) == first)
        let others = [try await application(seed: 2), try await application(seed: nil)]
        for other in others { for (one, two) in zip(first, other) { #expect(one != two) } }
    }

    /// Whoever knows the seed could compute them, and the number of seeds that people type is small.
    @Test func beyondLoopbackASeedFixesNeitherThePasswordNorTheKeyForTLS() async throws {
        func start(_ host: String) async throws -> (password: String, pin: String?, key: String) {
            var configuration = Emulator.Configuration()
            (configuration.host, configuration.seed, configuration.tls) = (host, 1, .selfSigned)
            return try await withEmulator(configuration) {
                ($0.cloudPassword, $0.certificate?.publicKeyPin, $0.applicationKey)
            }
        }
        let (local, first, second) = (
            try await start("127.0.0.1"), try await start("0.0.0.0"), try await start("0.0.0.0")
        )
        #expect(Set([local, first, second].map(\.password)).count == 3)
        #expect(Set([local, first, second].map(\.pin)).count == 3)
        #expect(Set([local, first, second].map(\.key)).count == 1)  // what clients are configured with stays fixed
    }

    @Test func theSDKConfigurationHoldsKeySecretAndMasterKey() async throws {
        try await withEmulator { emulator async throws in
            let parsed = try SDKConfiguration(parsing: emulator.sdkConfiguration)
            let assembled = try SDKConfiguration(
                applicationKey: emulator.applicationKey,
                applicationSecret: emulator.applicationSecret,
                masterPublicKey: emulator.masterServerPublicKey
            )
            #expect(parsed.applicationKey == assembled.applicationKey)
            #expect(parsed.applicationSecret == assembled.applicationSecret)
            #expect(parsed.masterPublicKey == assembled.masterPublicKey)
            #expect(parsed.suites == AlgorithmSuite.available)
            // One form everywhere, so that whoever compares texts finds them equal.
            let key = try #require(Data(base64Encoded: emulator.masterServerPublicKey))
            #expect(key.count == 65)
            #expect(Array(key) == parsed.masterPublicKey.uncompressed)
            let listed = try await emulator.bank("GET", "/v2/applications")
                .json(as: [String: Any].self)
            let application = (listed["applications"] as? [[String: Any]])?.first
            #expect(application?["masterServerPublicKey"] as? String == emulator.masterServerPublicKey)
        }
    }

    @Test func aPathServedByNobodyIsRefusedInTheShapeOfTheAPI() async throws {
        try await withEmulator { emulator async throws in
            for path in [
                "/nothing", "/enrollment-server/nothing", "/_emulator/nothing", "/_emulator/activations/1/2/3",
            ] {
                let response = try await emulator.send("GET", path)
                #expect(response.status == 404, "\(path)")
                let body = try response.json(as: [String: Any].self)
                #expect(body["status"] as? String == "ERROR")
                #expect((body["responseObject"] as? [String: String])?["code"]?.isEmpty == false)
            }
        }
    }

    @Test func stoppingTwiceIsNoMore() async throws {
        let emulator = try await Emulator.start()
        let events = emulator.events()
        await emulator.stop()
        await emulator.stop()
        for await _ in events {}  // ends
        for await _ in emulator.events() {}  // ends at once
        #expect(throws: (any Error).self) { try RawConnection(port: emulator.port) }
    }

    @Test func anEmulatorThatNobodyHoldsStops() async throws {
        var emulator: Emulator? = try await Emulator.start()
        let port = try #require(emulator?.port)
        let events = try #require(emulator?.events())
        let client = try RawConnection(port: port)
        emulator = nil
        for await _ in events {}
        _ = await client.readUntilEnd()
    }

    // MARK: Journal

    @Test func theJournalTellsWhatWasAskedAndAnswered() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.send("POST", "/enrollment-server/nothing?a=b", body: #"{"x":1}"#)
            try await emulator.send("GET", "/_emulator/clock")  // not an API's: not in the journal
            try await emulator.send("GET", "/again", headers: ["Authorization: Basic c2VjcmV0", "X-Test: y"])
            let journal = await emulator.journal()
            #expect(journal.map(\.id) == [1, 2])
            #expect(journal.map(\.path) == ["/nothing", "/again"])
            let first = try #require(journal.first)
            #expect(first.method == "POST")
            #expect(first.query == "a=b")
            #expect(first.body == #"{"x":1}"#)
            #expect(first.status == 404)
            #expect(!first.isAccepted)
            #expect(first.refusal?.isEmpty == false)
            #expect(first.responseBody.contains("ERROR"))
            let headers = try #require(journal.last).headers
            #expect(headers.contains(.init(name: "X-Test", value: "y")))
            #expect(headers.contains(.init(name: "Authorization", value: "Basic …")))
            #expect(await emulator.journal(since: 1).map(\.path) == ["/again"])
            #expect(await emulator.journal(since: 2).isEmpty)
            #expect(await emulator.journal(since: .max).isEmpty)

            let page = try await emulator.send("GET", "/_emulator/journal?since=1").json(as: [String: Any].self)
            #expect(page["last"] as? Int == 2)
            let entries = try #require(page["entries"] as? [[String: Any]])
            #expect(entries.map { $0["path"] as? String } == ["/again"])
            #expect(entries.first?["refusal"] as? String == journal.last?.refusal)
        }
    }

    @Test func theJournalIsBounded() {
        var journal = Journal()
        let reply = Reply(status: 200, body: [UInt8](repeating: 65, count: Journal.bodyCapacity * 2))
        for number in 1...(Journal.capacity * 2 + 500) {
            let isLarge = number > Journal.capacity * 2
            let body = [UInt8](repeating: 66, count: isLarge ? Journal.bodyCapacity * 2 : 0)
            let request = ReceivedRequest(method: "GET", path: "/\(number)", body: body)
            let reply = isLarge ? reply : Reply(status: 200)
            let entry = journal.append(request, reply: reply, fault: nil, at: .distantPast)
            #expect(entry.body.utf8.count <= Journal.bodyCapacity + 20)
        }
        let entries = journal.entries(since: 0)
        #expect(entries.count == Journal.capacity)
        #expect(entries.last?.id == UInt64(Journal.capacity * 2 + 500))
        #expect(journal.entries(since: journal.lastID - 3).map(\.id) == [20498, 20499, 20500])
        #expect(journal.entries(before: 20498, limit: 2).map(\.id) == [20497, 20496])
        #expect(journal.entries(before: 1, limit: 2).isEmpty)
        #expect(journal.entries(since: 0, limit: 2).map(\.id) == [10501, 10502])
    }

    @Test func largeEntriesLeaveTheJournalEarlier() {
        var journal = Journal()
        let body = [UInt8](repeating: 66, count: Journal.bodyCapacity)
        for _ in 0..<3000 {
            let request = ReceivedRequest(method: "GET", path: "/", body: body)
            _ = journal.append(request, reply: Reply(status: 200, body: body), fault: nil, at: .distantPast)
        }
        let kept = journal.entries(since: 0)
        #expect(kept.last?.id == 3000)
        #expect(kept.reduce(0) { $0 + $1.body.utf8.count + $1.responseBody.utf8.count } <= Journal.totalCapacity)
        #expect(kept.count > 1500)
    }

    // MARK: Clock

    @Test func theClockStandsAndMoves() async throws {
        try await withEmulator { emulator async throws in
            let noon = Date(timeIntervalSince1970: 1_700_000_000)
            await emulator.clock.freeze(at: noon)
            #expect(await emulator.clock.now == noon)
            #expect(await emulator.clock.isManual)
            await emulator.clock.advance(by: .seconds(90))
            #expect(await emulator.clock.now == noon.addingTimeInterval(90))
            await emulator.clock.advance(by: .milliseconds(-90_500))
            #expect(await emulator.clock.now == noon.addingTimeInterval(-0.5))
            // Whoever asks over HTTP compares this field with the times in the answer.
            for path in ["/v2/operations/none", "/pa/v3/status", "/_emulator/clock"] {
                let date = try await emulator.send("GET", path).headers["date"]
                #expect(date == "Tue, 14 Nov 2023 22:13:19 GMT", "\(path)")
            }
            try await emulator.send("GET", "/nothing")
            #expect(await emulator.journal().first?.time == noon.addingTimeInterval(-0.5))
            await emulator.clock.resume()
            #expect(await abs(emulator.clock.now.timeIntervalSinceNow) < 3600)
            #expect(await !emulator.clock.isManual)
        }
    }

    @Test func theClockIsSetOverHTTP() async throws {
        try await withEmulator { emulator async throws in
            let set = try await emulator.putClock(#"{"mode":"manual","now":"2024-02-29T12:00:00Z"}"#)
            #expect(set == ["mode": "manual", "now": "2024-02-29T12:00:00.000Z"])
            let moved = try await emulator.putClock(#"{"advance":61.5}"#)
            #expect(moved == ["mode": "manual", "now": "2024-02-29T12:01:01.500Z"])
            let read: [String: String] = try await emulator.send("GET", "/_emulator/clock").json()
            #expect(read == moved)
            let real = try await emulator.putClock(#"{"mode":"real"}"#)
            #expect(real["mode"] == "real")
            let now = await emulator.clock.now
            #expect(abs(now.timeIntervalSinceNow) < 3600)
        }
    }

    @Test func theMachinesTimeUndoesEveryMove() async throws {
        try await withEmulator { emulator async throws in
            _ = try await emulator.putClock(#"{"advance":86400}"#)
            #expect(await emulator.clock.now.timeIntervalSinceNow > 80_000)
            #expect(try await emulator.putClock(#"{"mode":"real"}"#)["mode"] == "real")
            #expect(await abs(emulator.clock.now.timeIntervalSinceNow) < 3600)
            // Together, the move counts from the machine's time.
            _ = try await emulator.putClock(#"{"mode":"real","advance":86400}"#)
            _ = try await emulator.putClock(#"{"mode":"real","advance":86400}"#)
            #expect(await (80_000...90_000).contains(emulator.clock.now.timeIntervalSinceNow))
        }
    }

    @Test(arguments: [
        #"{"advance":1e300}"#, #"{"advance":-1e300}"#, #"{"advance":1e400}"#, #"{"advance":260000000000}"#,
        #"{"advance":-70000000000}"#, #"{"mode":"manual","now":"9999-06-01T00:00:00Z"}"#,
        #"{"mode":"manual","now":"2024-01-01T00:00:00Z","advance":1e12}"#, #"{"advance":NaN}"#, #"{"advance":"1"}"#,
        #"{"mode":"real","now":"2024-01-01T00:00:00Z","advance":-1e12}"#,
        // Number 36: of such a date no activation code could be made.
        #"{"mode":"manual","now":"1969-12-31T23:59:59Z"}"#,
    ])
    func theClockIsNotSetToWhatItCannotShow(body: String) async throws {
        try await withEmulator { emulator async throws in
            let noon = Date(timeIntervalSince1970: 1_700_000_000)
            await emulator.clock.freeze(at: noon)
            let refused = try await emulator.send("PUT", "/_emulator/clock", body: body)
            #expect(refused.status == 400)
            #expect(refused.text.contains("INVALID_REQUEST"))
            #expect(await emulator.clock.now == noon)
            #expect(await emulator.clock.isManual)
            // A time that is only far away is possible.
            #expect(try await emulator.putClock(#"{"advance":240000000000}"#)["now"]?.hasPrefix("9629-") == true)
            await emulator.clock.advance(by: .seconds(Int64.max / 2))
            #expect(await emulator.clock.now < Date.shownByClocks.upperBound)
        }
    }

    /// Number 36: RFC 3986 takes an escaped letter for the letter.
    @Test(arguments: ["/%65nrollment-server/pa/v3/status", "/enrollment%2Dserver/p%61/v3/status", "/%70a/v3/st%61tus"])
    func anEscapedLetterIsTheLetter(path: String) async throws {
        try await withEmulator { emulator async throws in
            #expect(try await emulator.send("POST", path, body: "{}").status == 200)
            #expect(try await emulator.send("POST", "/%2570a/v3/status", body: "{}").status == 404)
        }
    }

    @Test func aRunningClockRunsOnFromWhereItIsSet() {
        var time = VirtualTime()
        let start = Date(timeIntervalSince1970: 1000)
        time.resume(from: Date(timeIntervalSince1970: 5000), machine: start)
        #expect(time.now(machine: start.addingTimeInterval(10)) == Date(timeIntervalSince1970: 5010))
        time.advance(bySeconds: 7)
        #expect(time.now(machine: start.addingTimeInterval(10)) == Date(timeIntervalSince1970: 5017))
        time.freeze(at: time.now(machine: start))
        #expect(time.now(machine: .distantFuture) == Date(timeIntervalSince1970: 5007))
    }

    // MARK: State

    @Test func resetKeepsTheApplicationAndForgetsTheRest() async throws {
        try await withEmulator { emulator async throws in
            let configuration = emulator.sdkConfiguration
            try await emulator.send("GET", "/nothing")
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 0))
            await emulator.faults.add(FaultRule(effect: .init(status: 500)))
            #expect(try await emulator.send("POST", "/_emulator/reset").status == 200)
            #expect(emulator.sdkConfiguration == configuration)
            #expect(await emulator.journal().isEmpty)
            #expect(await emulator.faults.rules.isEmpty)
            #expect(await !emulator.clock.isManual)
            try await emulator.send("GET", "/nothing")
            #expect(await emulator.journal().map(\.id) == [2])
        }
    }

    @Test func importRefusesWhatIsNoStateAndChangesNothing() async throws {
        try await withEmulator { emulator async throws in
            let before = try await emulator.exported()
            for wrong in ["[]", "{", #"{"unknown":1}"#] {
                #expect(try await emulator.send("POST", "/_emulator/import", body: wrong).status == 400, "\(wrong)")
            }
            #expect(try await emulator.exported() == before)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.importState(Data("nonsense".utf8))
            }
            #expect(error?.code == .invalidDocument)
        }
    }

    @Test func administrationOfAnUnknownActivationIsRefused() async throws {
        try await withEmulator { emulator async throws in
            for action in ["block", "unblock"] {
                #expect(try await emulator.send("POST", "/_emulator/activations/nobody/\(action)").status == 404)
            }
            let body = #"{"advance":3}"#
            #expect(try await emulator.send("POST", "/_emulator/activations/nobody/counter", body: body).status == 404)
            for wrong in [#"{"advance":-1}"#, "{}", #"{"advance":"3"}"#] {
                let path = "/_emulator/activations/nobody/counter"
                #expect(try await emulator.send("POST", path, body: wrong).status == 400)
            }
            let error = await #expect(throws: EmulatorError.self) { try await emulator.blockActivation("nobody") }
            #expect(error?.code == .notFound)
        }
    }

    // MARK: Events

    @Test func eventsReachEverySubscriber() async throws {
        try await withEmulator { emulator async throws in
            var one = emulator.events().makeAsyncIterator()
            var two = emulator.events().makeAsyncIterator()
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 0))
            await emulator.faults.removeAll()
            try await emulator.reset()
            for expected: Emulator.Event.Kind in [.clock, .faults, .reset] {
                let event = await one.next()
                #expect(event?.kind == expected)
                #expect(await two.next() == event)
            }
        }
    }

    @Test(arguments: [Emulator.TLS.disabled, .selfSigned])
    func eventsAreStreamedOverHTTP(tls: Emulator.TLS) async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.tls = tls }) { emulator async throws in
            let stream = try emulator.connect()
            try await stream.send("GET /_emulator/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try await stream.responseHeadAndChunk()
            #expect(head.contains("Content-Type: text/event-stream"))
            #expect(head.hasSuffix("event: ready\ndata: {}\n\n"))
            try await emulator.send("GET", "/nothing")
            let event = try #require(try await stream.nextChunk())
            #expect(event.hasPrefix("id: 1\nevent: request\ndata: {"))
            #expect(event.hasSuffix("}\n\n"))
            #expect(event.contains(#""status":"404""#))
            await emulator.stop()
            _ = await stream.readUntilEnd()
        }
    }

    @Test func aSubscriberFarBehindIsEndedNotShortened() async throws {
        let broadcast = Broadcast(startingWith: EventQueue())
        let subscription = broadcast.subscribe()
        for number in 1...5000 {
            broadcast.send(.init(number: UInt64(number), kind: .clock, id: nil, status: nil, time: .distantPast))
        }
        var received: [UInt64] = []
        // Ends, though the broadcast goes on.
        while let event = await subscription.next() { received.append(event.number) }
        #expect(received == Array(1...UInt64(received.count)))
        #expect(received.count >= 1000)
    }

    @Test(arguments: ["Basic c2VjcmV0", "Basic \u{301}c2VjcmV0", "  Basic  c2VjcmV0"])
    func credentialsStayOutOfTheJournal(value: String) {
        var journal = Journal()
        let request = ReceivedRequest(method: "GET", path: "/", headers: [("authorization", value)])
        let entry = journal.append(request, reply: Reply(status: 200), fault: nil, at: .now)
        #expect(entry.headers.map(\.value) == ["Basic …"])
    }

    // MARK: Access

    @Test func wrongMethodsAreTold() async throws {
        try await withEmulator { emulator async throws in
            let response = try await emulator.send("GET", "/_emulator/reset")
            #expect(response.status == 405)
            #expect(response.headers["allow"] == "POST")
            #expect(try await emulator.send("DELETE", "/_emulator/clock").headers["allow"] == "GET, PUT")
        }
    }

    @Test(arguments: [
        "Origin: http://evil.example", "Host: evil.example", "Origin: null", "Host: 127.0.0.1.evil.example:80",
    ])
    func foreignPagesMayNotUseTheControlPlane(header: String) async throws {
        try await withEmulator { emulator async throws in
            let client = try RawConnection(port: emulator.port)
            let host = header.hasPrefix("Host") ? "" : "Host: localhost\r\n"
            try await client.send("POST /_emulator/reset HTTP/1.1\r\n\(host)\(header)\r\nContent-Length: 0\r\n\r\n")
            #expect(try await client.response().status == 403)
            #expect(try await emulator.send("POST", "/_emulator/reset").status == 200)
        }
    }

    @Test func itsOwnPageMay() async throws {
        try await withEmulator { emulator async throws in
            let headers = ["Origin: http://127.0.0.1:\(emulator.port)"]
            #expect(try await emulator.send("POST", "/_emulator/reset", headers: headers).status == 200)
        }
    }

    @Test func beyondLoopbackTheControlPlaneAsksForCredentials() async throws {
        var configuration = Emulator.Configuration()
        configuration.host = "0.0.0.0"
        configuration.cloudUser = "u"
        configuration.cloudPassword = "pä:ss"
        try await withEmulator(configuration) { emulator async throws in
            #expect(emulator.baseURL.hasPrefix("http://127.0.0.1:"))
            func status(_ credentials: String?, path: String = "/_emulator/clock") async throws -> Int {
                let header = credentials.map { "Authorization: Basic \(Data($0.utf8).base64EncodedString())" }
                return try await emulator.send("GET", path, headers: header.map { [$0] } ?? []).status
            }
            #expect(try await status(nil) == 401)
            #expect(try await status("u:wrong") == 401)
            #expect(try await status("u:pä:ss") == 200)
            #expect(try await status(nil, path: "/console/") == 401)
            let refused = try await emulator.send("GET", "/_emulator/clock", headers: ["Authorization: Basic ==="])
            #expect(refused.headers["www-authenticate"]?.hasPrefix("Basic ") == true)
        }
    }

    @Test(arguments: [
        "/_emulator/export", "/_emulator/configuration", "/enrollment-server/_emulator/export",
        "/_emulator/cloud/applications",
    ])
    func whatHoldsKeysAsksForCredentialsOnLoopbackToo(path: String) async throws {
        try await withEmulator { emulator async throws in
            let refused = try await emulator.send("GET", path)
            #expect(refused.status == 401)
            #expect(!refused.text.contains(emulator.applicationSecret))
            #expect(refused.headers["www-authenticate"]?.hasPrefix("Basic ") == true)
            let wrong = "Authorization: Basic " + Data("\(emulator.cloudUser):wrong".utf8).base64EncodedString()
            #expect(try await emulator.send("GET", path, headers: [wrong]).status == 401)
            #expect(try await emulator.bank("GET", path).status == 200)
            // A page's script is not interrupted by the browser; it asks its user itself.
            let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin"]
            let toScript = try await emulator.send("GET", path, headers: script)
            #expect(toScript.status == 401 && toScript.headers["www-authenticate"] == nil)
        }
    }

    @Test func whetherTheCredentialsAreRightIsToldWithoutARefusal() async throws {
        try await withEmulator { emulator async throws in
            let path = "/_emulator/access"
            let user = emulator.cloudUser
            let unknown = try JSONValue(parsing: try await emulator.send("GET", path).body)
            let applications: JSONValue = [.string(emulator.applicationID)]
            #expect(unknown == ["isAuthenticated": false, "user": .string(user), "applications": applications])
            let known = try await emulator.bank("GET", path)
            #expect(try JSONValue(parsing: known.body)["isAuthenticated"] == true)
        }
    }

    @Test(arguments: ["cross-site", "same-site", "CROSS-SITE", ""])
    func whatABrowserSendsForAnotherSiteIsRefused(site: String) async throws {
        try await withEmulator { emulator async throws in
            let header = "Sec-Fetch-Site: \(site)"
            for path in ["/_emulator/clock", "/_emulator/export", "/console/console.js"] {
                let headers = [header, emulator.authorization]
                #expect(try await emulator.send("GET", path, headers: headers).status == 403, "\(path)")
            }
            let navigation = [header, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
            #expect(try await emulator.send("GET", "/_emulator/clock", headers: navigation).status == 403)
            // A link to the console may stand anywhere; a frame of it may not.
            #expect(try await emulator.send("GET", "/console/", headers: navigation).status == 200)
            let frame = [header, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]
            #expect(try await emulator.send("GET", "/console/", headers: frame).status == 403)
            for own in ["same-origin", "none"] {
                let headers = ["Sec-Fetch-Site: \(own)"]
                #expect(try await emulator.send("GET", "/_emulator/clock", headers: headers).status == 200)
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.0.0.1:80", true), ("LocalHost:1", true), ("[::1]", true), ("[::1]:80", true),
        ("127.1.2.3", true), ("", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example", false),
        ("evil.example:127.0.0.1", false), ("128.0.0.1", false), ("127.0.0", false), ("127.0.0.1:\u{301}", true),
        ("127.0.0.1\u{301}", false), ("localhost@evil.example", false), ("[::2]", false),
    ])
    func onlyLoopbackNamesAreLoopbackNames(host: String, isLoopback: Bool) {
        #expect(ControlAccess.isLoopbackName(host) == isLoopback)
    }

    @Test func twoHostsAreNone() async throws {
        try await withEmulator { emulator async throws in
            let client = try RawConnection(port: emulator.port)
            try await client.send("GET /_emulator/clock HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
            #expect((400...403).contains(try await client.response().status))
        }
    }

    @Test func theConfigurationIsThereToCopy() async throws {
        try await withEmulator { emulator async throws in
            let configuration = try await emulator.bank("GET", "/_emulator/configuration").json(
                as: [String: String].self
            )
            #expect(configuration["baseURL"] == emulator.baseURL)
            #expect(configuration["sdkConfiguration"] == emulator.sdkConfiguration)
            #expect(configuration["cloudPassword"] == emulator.cloudPassword)
        }
    }
}

extension Emulator {
    fileprivate func putClock(_ change: String) async throws -> [String: String] {
        try await self.send("PUT", "/_emulator/clock", body: change).json()
    }
}
