import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// Small things that a stranger stumbled over in an afternoon with the development server.
@Suite(.timeLimit(.minutes(5))) struct TesterWishTests {
    private static func ask(
        _ emulator: Emulator,
        _ method: String,
        _ path: String,
        headers: [String] = [],
        body: String? = nil
    ) async throws -> (status: Int, text: String, json: JSONValue?, headers: [String: String]) {
        let headers = headers + [emulator.authorization]
        let response = try await emulator.send(method, path, headers: headers, body: body)
        return (response.status, response.text, try? JSONValue(parsing: response.body), response.headers)
    }

    // MARK: From a refusal to its reason

    /// In the server and in a space, by the name with which a client reached it. A proxy's page in its place names nothing.
    @Test(arguments: [false, true]) func aRefusalNamesItsEntryInTheJournal(isInSpace: Bool) async throws {
        try await withEmulator { emulator async throws in
            let server = isInSpace ? try await emulator.makeSpace() : emulator
            let place = String(server.cloudURL.dropFirst(emulator.cloudURL.count))
            let list = place + "/enrollment-server/api/auth/token/app/operation/list"
            let refused = try await emulator.send("POST", list, body: "{}")
            #expect(refused.status == 401)
            let link = try #require(refused.headers["x-emulator-entry"])
            let entry = try #require(await server.journal().last)
            #expect(link == "\(server.cloudURL)/console/#journal/\(entry.id)" && entry.refusal != nil)
            let accepted = try await emulator.send("POST", place + "/enrollment-server/pa/v3/status", body: "{}")
            #expect(accepted.status == 200 && accepted.headers["x-emulator-entry"] == nil)
            for moment in FaultRule.Effect.Moment.allCases {
                await server.faults.set([FaultRule(effect: .init(page: .init(moment, status: 502)))])
                let page = try await emulator.send("POST", list, body: "{}")
                #expect(page.status == 502 && page.headers["x-emulator-entry"] == nil)
            }
        }
    }

    // MARK: Devices and time

    @Test func aRefusedDecisionIsRefusedWithWhatTheJournalFound() async throws {
        try await withEmulator { emulator async throws in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let cloud = emulator.cloud
            let operation = try await cloud.createOperation("login", userID: "alice", demandsProximityCheck: true)
            let body = #"{"operationId":"\#(operation.id)","decision":"approve"}"#
            let refused = try await Self.ask(emulator, "POST", "/_emulator/devices/\(device.id)/decisions", body: body)
            #expect(refused.status == 409)
            let entry = try #require(await emulator.journal().last { !$0.isAccepted && $0.deviceName != nil })
            let message = refused.json?["responseObject"]?["message"]?.string
            let finding = try #require(entry.refusal)
            #expect(message == "\(finding); see /_emulator/journal/\(entry.id)", "\(refused.text)")
            #expect(refused.headers["x-emulator-entry"]?.hasSuffix("/console/#journal/\(entry.id)") == true)
            #expect(try await emulator.device(device.id).tasks.last?.failure == finding)
        }
    }

    /// Also of what the console asks of `/v2`, and where no room was left for a request that a fault holds.
    @Test func everyRefusalNamesItsEntry() async throws {
        try await withEmulator { emulator async throws in
            let body = #"{"template": "none"}"#
            let relayed = try await Self.ask(emulator, "POST", "/_emulator/cloud/operations", body: body)
            #expect(relayed.status == 400 && relayed.headers["x-emulator-entry"] != nil)
            await emulator.faults.set([FaultRule(name: "late", match: .init(path: "/x"), effect: .init(late: 60))])
            var request = ReceivedRequest(method: "POST", path: "/x")
            request.body = Array(repeating: 0, count: 16 << 20)
            _ = await emulator.core.respond(to: request)
            let refused = try await emulator.send("POST", "/x", body: "{}")
            let entry = try #require(await emulator.journal().last)
            #expect(refused.status == 507 && entry.refusal?.contains("no room") == true && entry.fault == "late")
            #expect(refused.headers["x-emulator-entry"]?.hasSuffix("/console/#journal/\(entry.id)") == true)
        }
    }

    /// A browser is led to the console; what asks for JSON, or for anything, gets the list.
    @Test func theServersAddressLeadsABrowserToTheConsole() async throws {
        try await withEmulator { emulator async throws in
            for path in ["/", try await emulator.makeSpace().cloudURL.dropFirst(emulator.cloudURL.count) + "/"] {
                let browser = try await emulator.send("GET", path, headers: ["Accept: text/html,*/*;q=0.8"])
                #expect(browser.status == 303 && browser.headers["location"] == "console/")
                for accept in ["*/*", "application/json"] {
                    let program = try await emulator.send("GET", path, headers: ["Accept: \(accept)"])
                    #expect(program.status == 200 && program.text.contains("\"routes\""))
                    #expect(program.headers["vary"]?.contains("Accept") == true)
                }
            }
        }
    }

    /// Those of failed tests first, with what happened in each.
    @Test func spacesReadAsAReport() async throws {
        try await withEmulator { emulator async throws in
            let failed = try await emulator.makeSpace(named: "older")
            try await failed.cloud.createOperation("login", userID: "alice")
            _ = try? await failed.cloud.createOperation("none", userID: "alice")
            try await failed.markFailed(because: "PENDING is not APPROVED")
            _ = try await emulator.makeSpace(named: "newer")
            let listed = try await emulator.ask("/spaces").body
            let items = try #require(listed["items"]?.array)
            #expect(items.map { $0["name"]?.string } == ["older", "newer"])
            #expect(items.map { $0["operations"] } == [1, 0] && items.map { $0["refused"] } == [1, 0])
            let last = try #require(await failed.journal().last { !$0.isAccepted })
            #expect(items[0]["lastRefusal"]?["finding"]?.string == last.finding && items[1]["lastRefusal"] == nil)
            let one = try JSONValue(
                parsing: try await emulator.send("GET", "/_emulator/spaces/\(failed.spaceID ?? "")").body
            )
            #expect(one == items[0])
            try await failed.reset()
            #expect(try await emulator.ask("/spaces?limit=1").body["items"]?.array?.first?["refused"] == 0)
        }
    }

    /// Of a registration that nobody has used in time, the time stays; of one that was removed by hand, none.
    @Test func anExpiredRegistrationSaysSo() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            let waiting = try await emulator.cloud.register(userID: "alice")
            let removed = try await emulator.cloud.register(userID: "bob")
            try await emulator.cloud.removeRegistration(removed.id)
            func expiry(_ id: String) async throws -> JSONValue? {
                let shown = try await emulator.send("GET", "/_emulator/activations/\(id)")
                return try JSONValue(parsing: shown.body)["timestampExpires"]
            }
            let deadline = try #require(try await expiry(waiting.id))
            await emulator.clock.advance(by: .seconds(3600))
            #expect(await emulator.activations().map(\.status) == [.removed, .removed])
            #expect(try await expiry(waiting.id) == deadline)
            #expect(try await expiry(removed.id) == nil)
        }
    }

    @Test func aDeviceAnswersAfterItsFirstLook() async throws {
        try await withEmulator { emulator async throws in
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            await emulator.clock.freeze()
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 30))
            #expect(device.tasks.map(\.operationID) == [operation])
        }
    }

    /// Without settling, a device that looks late begins its 30 seconds late.
    @Test func aMovedClockSettlesBeforeAndAfter() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 30))
            for _ in 1...25 { try await emulator.cloud.createOperation("login", userID: "alice") }
            for seconds in [29, 2] {
                // The call itself waits for five seconds only, which a busy machine may need for 25 looks.
                try await emulator.settle(within: .seconds(60))
                let body = #"{"advance": \#(seconds), "settle": true}"#
                let moved = try await emulator.send("PUT", "/_emulator/clock", body: body)
                #expect(moved.status == 200 || moved.status == 409 && moved.text.contains("This still goes on"))
            }
            try await emulator.settle(within: .seconds(60))
            #expect(await emulator.operations().count { $0.status == .approved } == 25)
        }
    }

    // MARK: The journal

    @Test func aDeviceIsFoundByItsActivation() async throws {
        try await withEmulator { emulator async throws in
            let devices = [
                try await emulator.makeDevice(userID: "alice"), try await emulator.makeDevice(userID: "bob"),
            ]
            for device in devices {
                let found = try await emulator.send("GET", "/_emulator/journal?device=\(device.id)")
                let entries = try JSONValue(parsing: found.body)["entries"]?.array ?? []
                #expect(!entries.isEmpty && entries.allSatisfy { $0["activationId"]?.string == device.id })
            }
        }
    }

    /// DEFECTS3 E 44: the bank seemed to have registered a device that registers itself.
    @Test func theRegistrationOfADeviceIsNamedAsTheDevices() async throws {
        try await withEmulator { emulator async throws in
            let device = try await emulator.makeDevice(userID: "alice", name: "Alice's phone")
            try await emulator.cloud.register(userID: "alice")
            let calls = await emulator.journal().filter { $0.path.hasPrefix("/v2/") }
            #expect(calls.map(\.deviceName) == ["Alice's phone", "Alice's phone", nil])
            #expect(calls.map { $0.activationID == device.id } == [true, true, false])
        }
    }

    // MARK: Words that lead on

    @Test func theAPIOfPowerAuthServerIsNamed() async throws {
        try await withEmulator { emulator async throws in
            for path in ["/rest/v3/activation/init", "/powerauth-java-server/rest/v3/activation/init"] {
                let refused = try await Self.ask(emulator, "POST", path, body: "{}")
                #expect(refused.status == 404 && refused.text.contains("/v2/registrations"), "\(refused.text)")
            }
        }
    }

    @Test func malformedJSONHasAPlace() async throws {
        try await withEmulator { emulator async throws in
            let refused = try await Self.ask(emulator, "PUT", "/_emulator/clock", body: #"{"mode": manual}"#)
            #expect(refused.text.contains("The body is not JSON (JSON: ") && refused.text.contains("at byte 9"))
        }
    }

    @Test func anActivationIsARegistration() async throws {
        try await withEmulator { emulator async throws in
            let body = #"{"userId":"alice","template":"login","activationId":"x"}"#
            _ = try await Self.ask(emulator, "POST", "/v2/operations", body: body)
            #expect(await emulator.journal().last?.warnings?.first?.suggestion == "registrationId")
        }
    }

    @Test func aRedirectedCallbackSaysSo() async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.add(FaultRule(match: .init(path: "http://127.0.0.1:1/"), effect: .init(status: 302)))
            try await emulator.createCallback("http://127.0.0.1:1/")
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            #expect(emulator.deliveries().first?.failure == "the bank answered 302; redirects are not followed")
        }
    }

    @Test func aSpaceHasRoomForMoreThanTenWhoWait() async throws {
        try await withSpace { space async throws in
            #expect(await space.core.configuration.capacity.eventStreams == 100)
        }
    }

    // MARK: The description

    @Test func theDescriptionIsCompressedAndItsErrorsAreExamples() async throws {
        try await withEmulator { emulator async throws in
            let plain = try await emulator.send("GET", "/openapi.json")
            #expect(!plain.text.contains(#""code":"text""#))
            let small = try await emulator.send("GET", "/openapi.json", headers: ["Accept-Encoding: gzip"])
            #expect(small.headers["content-encoding"] == "gzip" && small.body.count < plain.body.count / 5)
        }
    }

    // MARK: Addresses

    @Test func addressesAreThoseByWhichAClientHasComeInAndOnlyAllowedOnes() async throws {
        try await withEmulator { emulator async throws in
            func made(_ host: String) async throws -> (status: Int, url: String?) {
                let client = try emulator.connect()
                try await client.send(
                    "POST /_emulator/spaces HTTP/1.1\r\nHost: \(host)\r\nContent-Type: application/json\r\n"
                        + "Content-Length: 2\r\n\r\n{}"
                )
                let response = try await client.response()
                return (response.status, try JSONValue(parsing: response.body)["url"]?.string)
            }
            #expect(try await made("localhost:8080").url?.hasPrefix("http://localhost:8080/spaces/") == true)
            #expect(try await made("elsewhere.example.com").status == 403)
        }
    }

    /// Behind a proxy every address is the proxy's, also of spaces and of refusals, and the console's pages are the server's own.
    @Test func behindAProxyAllAddressesAreThePublicOne() async throws {
        var configuration = Emulator.Configuration()
        configuration.publicURL = "https://bank.test/tokens/"
        try await withEmulator(configuration) { emulator async throws in
            #expect(emulator.baseURL == "https://bank.test/tokens/enrollment-server")
            func make(origin: String) async throws -> (
                status: Int, text: String, json: JSONValue?, headers: [String: String]
            ) {
                try await Self.ask(emulator, "POST", "/_emulator/spaces", headers: ["Origin: \(origin)"], body: "{}")
            }
            let made = try await make(origin: "https://bank.test")
            let space = try #require(made.json?["url"]?.string)
            #expect(space.hasPrefix("https://bank.test/tokens/spaces/"))
            let path = space.dropFirst("https://bank.test/tokens".count) + "/v2/operations"
            let refused = try await Self.ask(emulator, "POST", String(path), body: "{}")
            #expect(refused.headers["x-emulator-entry"] == "\(space)/console/#journal/1")
            #expect(try await make(origin: "https://bank.test.example.com").status == 403)
        }
        configuration.publicURL = "bank.test"
        await #expect(throws: EmulatorError.self) { _ = try await Emulator.start(configuration: configuration) }
    }

    @Test(arguments: [
        ("emulator:8080", true, "emulator:8080"), ("[fe80::1]:80", true, "[fe80::1]:80"), ("emulator", false, nil),
        ("localhost:1", false, "localhost:1"), ("a/b", true, nil), ("a b", true, nil), ("a@b", true, nil),
        ("", true, nil),
    ])
    func aNameIsRepeatedWhereItCanLeadNowhereElse(host: String, isOpen: Bool, name: String?) {
        let access = ControlAccess(isLoopback: !isOpen)
        let request = ReceivedRequest(method: "GET", path: "/", headers: [("Host", host)])
        #expect(access.host(of: request) == name)
    }
}
