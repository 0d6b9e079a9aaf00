import ExactJSON
import Foundation
import MobileTokenTesting
import Synchronization
import TestSupport
import Testing

@testable import MobileTokenEmulator

@Suite struct SpacePathTests {
    @Test(arguments: [
        ("/spaces/a/v2/operations", "a", "/v2/operations"), ("/spaces/a/", "a", "/"), ("/spaces/a", "a", ""),
        ("/spaces/a/enrollment-server/pa/v3/status", "a", "/pa/v3/status"),
        ("/spaces/a/enrollment-server", "a", "/"), ("/spaces/a//v2", "a", "//v2"),
        ("/spaces/a/enrollment-servers", "a", "/enrollment-servers"),
        ("/spaces/a/spaces/b/v2", "a", "/spaces/b/v2"),
        // To a `String`, the slash with a mark behind it is another character.
        ("/spaces/a/\u{301}x", "a", "/\u{301}x"), ("/spaces/%61/v2", "%61", "/v2"),
    ])
    func thePathWithinTheSpaceFollowsItsIdentifier(path: String, id: String, inner: String) throws {
        let place = try #require(SpacePath(path))
        // By bytes: to a `String`, other bytes may be the same characters.
        #expect(Array(place.id.utf8) == Array(id.utf8) && Array(place.inner.utf8) == Array(inner.utf8), "\(place)")
    }

    @Test(arguments: ["/", "", "/spaces", "/spaces/", "/spaces//v2", "/Spaces/a/v2", "/v2/spaces/a", "spaces/a"])
    func otherPathsAreTheServers(path: String) { #expect(SpacePath(path) == nil) }
}

/// Servers within a server, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct SpaceTests {
    private func json(_ response: RawConnection.Response) throws -> JSONValue {
        try JSONValue(parsing: Array(response.body))
    }

    @Test func aSpaceIsMadeListedShownAndRemoved() async throws {
        try await withEmulator { emulator in
            let made = try await emulator.send("POST", "/_emulator/spaces", body: #"{"name":"first"}"#)
            #expect(made.status == 200)
            let space = try self.json(made)
            let id = try #require(space["id"]?.string)
            #expect(space["name"] == "first")
            #expect(space["url"]?.string == "\(emulator.cloudURL)/spaces/\(id)")
            #expect(space["baseURL"]?.string == "\(emulator.cloudURL)/spaces/\(id)/enrollment-server")
            let second = try self.json(try await emulator.send("POST", "/_emulator/spaces"))
            #expect(second["name"] == nil)
            let list = try self.json(try await emulator.send("GET", "/_emulator/spaces"))
            #expect(list["total"] == 2 && list["items"]?.array?.map { $0["url"] } == [second["url"], space["url"]])
            let shown = try self.json(try await emulator.send("GET", "/_emulator/spaces/\(id)"))
            #expect(shown == list["items"]?.array?.last && shown["baseURL"] == space["baseURL"])
            #expect(emulator.spaces().map(\.name) == [nil, "first"])
            #expect(try await emulator.send("DELETE", "/_emulator/spaces/\(id)").status == 200)
            #expect(try await emulator.send("GET", "/_emulator/spaces/\(id)").status == 404)
            #expect(try await emulator.send("GET", "/spaces/\(id)/health").status == 404)
            #expect(try await emulator.send("DELETE", "/_emulator/spaces").status == 200)
            #expect(emulator.spaces() == [])
        }
    }

    /// A space does below its address all that the server does: pages, description, all APIs, bare and under the context path.
    @Test func everythingIsFoundBelowItsAddress() async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace()
            let id = try #require(space.spaceID)
            let prefix = "/spaces/\(id)"
            for path in [
                "/", "/health", "/openapi.json", "/docs", "/console/", "/console/console.js", "/_emulator/clock",
                "/_emulator/journal", "/_emulator/operations", "/pa/v3/status", "/enrollment-server/pa/v4/status",
                "/enrollment-server/_emulator/faults",
            ] {
                let method = path.contains("/pa/") ? "POST" : "GET"
                let response = try await emulator.send(method, prefix + path, body: method == "POST" ? "{}" : nil)
                #expect(response.status == 200, "\(path)")
            }
            let document = try self.json(try await emulator.send("GET", prefix + "/openapi.json"))
            #expect(document["servers"]?.array?.first?["url"]?.string == space.cloudURL)
            #expect(try await emulator.send("GET", prefix).headers["location"] == "\(id)/")
            let configuration = try self.json(try await emulator.bank("GET", prefix + "/_emulator/configuration"))
            #expect(configuration["baseURL"]?.string == space.baseURL)
            #expect(configuration["sdkConfiguration"]?.string == space.sdkConfiguration)
            let path = prefix + "/admin/applications/\(space.applicationID)"
            let application = try self.json(try await emulator.bank("GET", path))
            #expect(application["serviceBaseUrl"]?.string == space.baseURL)
            #expect(space.sdkConfiguration != emulator.sdkConfiguration)
            let events = try emulator.connect()
            try await events.send("GET \(prefix)/_emulator/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            #expect(try await events.responseHeadAndChunk().contains("event: ready"))
            try await space.cloud.register(userID: "alice")
            #expect(try await events.nextChunk()?.contains("event: activation") == true)
        }
    }

    @Test func nothingOfOneIsSeenOrChangedInAnother() async throws {
        try await withEmulator { emulator in
            let (one, other) = (try await emulator.makeSpace(), try await emulator.makeSpace())
            let untouched = (try await emulator.exported(), try await other.exported())
            let operation = try await one.cloud.createOperation("login", userID: "alice")
            try await one.cloud.register(userID: "alice")
            await one.clock.freeze(at: Date(timeIntervalSince1970: 1_000_000_000))
            await one.faults.add(FaultRule(match: .init(path: "/v2/**"), effect: .init(status: 503)))
            var rules = await one.protocolRules()
            rules.minimumVersion = 4
            try await one.setProtocolRules(rules)
            for server in [emulator, other] {
                #expect(await server.journal() == [])
                #expect(await server.operations() == [])
                #expect(await server.activations() == [])
                #expect(await server.faults.rules == [])
                #expect(await server.clock.isManual == false)
                #expect(await server.protocolRules().minimumVersion == 3)
                await #expect(throws: CloudError.self) { try await server.cloud.operation(operation.id) }
                try await server.cloud.register(userID: "bob")
                try await server.reset()
            }
            #expect(try await emulator.exported() == untouched.0)
            #expect(try await other.exported() == untouched.1)
            #expect(await one.operations().map(\.id) == [operation.id])
            #expect(await one.clock.now == Date(timeIntervalSince1970: 1_000_000_000))
            #expect(await one.journal().count == 2)
            await other.stop()
            let id = try #require(one.spaceID)
            #expect(try await emulator.send("GET", "/spaces/\(id)/health").status == 200)
        }
    }

    /// The credentials of one application are nobody's in another space.
    @Test func theKeysOfOneSpaceOpenNothingInAnother() async throws {
        try await withEmulator { emulator in
            let one = try await emulator.makeSpace(seed: 1)
            let (same, other) = (try await emulator.makeSpace(seed: 1), try await emulator.makeSpace(seed: 2))
            #expect(one.sdkConfiguration == same.sdkConfiguration)
            #expect(other.applicationKey != one.applicationKey)
            #expect(emulator.applicationKey != one.applicationKey)
            let codes = [
                try await one.cloud.register(userID: "alice").activationCode,
                try await same.cloud.register(userID: "alice").activationCode,
                try await other.cloud.register(userID: "alice").activationCode,
            ]
            #expect(codes[0] == codes[1] && codes[1] != codes[2])
        }
    }

    @Test func aServerWithASeedHasTheSameSpacesEachTime() async throws {
        var configuration = Emulator.Configuration()
        configuration.seed = 7
        var made: [[String]] = []
        for _ in 0..<2 {
            try await withEmulator(configuration) { emulator in
                let spaces = [try await emulator.makeSpace(), try await emulator.makeSpace()]
                made.append([emulator.applicationKey] + spaces.flatMap { [$0.spaceID ?? "", $0.applicationKey] })
            }
        }
        #expect(made[0] == made[1] && Set(made[0]).count == 5)
    }

    private static let wrongRequests: [(String, String, String?, Int, String)] = [
        ("POST", "", "[]", 400, "The body is not an object"), ("POST", "", "{", 400, "not JSON"),
        ("POST", "", #"{"nam":"a"}"#, 400, "did you mean 'name'"), ("POST", "", #"{"name":7}"#, 400, "'name'"),
        ("POST", "", #"{"name":""}"#, 400, "'name'"), ("POST", "", #"{"seed":-1}"#, 400, "'seed'"),
        ("POST", "", #"{"seed":"1"}"#, 400, "'seed'"), ("POST", "", #"{"seed":1.5}"#, 400, "'seed'"),
        ("POST", "", #"{"seed":99999999999999999999}"#, 400, "'seed'"),
        ("POST", "", #"{"seed":1,"seed":2}"#, 400, "'seed'"),
        ("POST", "", #"{"name":"\#(String(repeating: "x", count: 256))"}"#, 400, "'name' must have 1 to 255 bytes"),
        ("PUT", "", "{}", 405, "Allowed here"), ("PATCH", "/none", "{}", 405, "Allowed here"),
        ("GET", "/none", nil, 404, "There is no such space"), ("DELETE", "/none", nil, 404, "There is no such space"),
        ("GET", "?limit=0", nil, 400, "limit"), ("GET", "?offset=-1", nil, 400, "offset"),
        ("POST", "/none/failure", "{}", 404, "There is no such space"),
        ("POST", "/none/failure", #"{"reson":"a"}"#, 400, "did you mean 'reason'"),
        ("POST", "/none", "{}", 405, "Allowed here"), ("GET", "/a/b", nil, 404, "no such path"),
    ]

    /// Each wrong input to each route, refused by name, and nothing is made, changed or removed.
    @Test(arguments: Self.wrongRequests)
    func aWrongRequestIsRefusedByName(
        method: String,
        path: String,
        body: String?,
        status: Int,
        message: String
    ) async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace(named: "there")
            let before = (emulator.spaces(), try await emulator.exported(), try await space.exported())
            let refused = try await emulator.send(method, "/_emulator/spaces" + path, body: body)
            #expect(refused.status == status)
            #expect(refused.text.contains(message), "\(refused.text)")
            #expect(emulator.spaces() == before.0)
            #expect(try await emulator.exported() == before.1)
            #expect(try await space.exported() == before.2)
        }
    }

    @Test func aSpaceHasNoSpaces() async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace()
            let id = try #require(space.spaceID)
            for (method, path) in [("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/\(id)"), ("DELETE", "/\(id)")] {
                let refused = try await emulator.send(method, "/spaces/\(id)/_emulator/spaces" + path)
                #expect(refused.status == 404)
                #expect(refused.text.contains("A space has no spaces of its own"))
            }
            #expect(try await emulator.send("GET", "/spaces/\(id)/spaces/\(id)/health").status == 404)
            await #expect(throws: EmulatorError.self) { try await space.makeSpace() }
            #expect(emulator.spaces().map(\.id) == [id])
        }
    }

    /// A page of another site can make no space, and read nothing of one.
    @Test func otherSitesAreKeptOut() async throws {
        try await withEmulator { emulator in
            let headers = ["Origin: http://example.com"]
            #expect(try await emulator.send("POST", "/_emulator/spaces", headers: headers, body: "{}").status == 403)
            let id = try #require(try await emulator.makeSpace().spaceID)
            for path in ["/_emulator/journal", "/console/", "/docs"] {
                #expect(
                    try await emulator.send("GET", "/spaces/\(id)\(path)", headers: headers).status == 403,
                    "\(path)"
                )
            }
        }
    }

    @Test func theirNumberIsBounded() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.capacity.spaces = 2 }) { emulator in
            let first = try await emulator.makeSpace()
            _ = try await emulator.makeSpace()
            let refused = try await emulator.send("POST", "/_emulator/spaces")
            #expect(refused.status == 507)
            #expect(refused.text.contains("There is no room for more spaces (2)"))
            #expect(emulator.spaces().count == 2)
            await first.stop()
            #expect(try await emulator.send("POST", "/_emulator/spaces").status == 200)
        }
    }

    @Test func aSpaceHoldsLessThanAServer() async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace()
            let large = String(repeating: "x", count: 900_000)
            let refusal = await #expect(throws: CloudError.self) {
                for _ in 0..<10 {
                    _ = try await space.cloud.createMessage(
                        .init(userID: "alice", subject: "a", summary: "b", body: large)
                    )
                }
            }
            #expect(refusal?.httpStatus == 507)
            #expect(await space.messages().count == 4)
            _ = try await emulator.cloud.createMessage(.init(userID: "alice", subject: "a", summary: "b", body: large))
        }
    }

    @Test func handlesLeadToTheSameSpace() async throws {
        try await withEmulator { emulator in
            let made = try await emulator.ask("/spaces", method: "POST").body
            let id = try #require(made["id"]?.string)
            let (one, other) = (try #require(emulator.space(id)), try #require(emulator.space(id)))
            try await one.cloud.register(userID: "alice")
            #expect(await other.activations().count == 1)
            await one.stop()
            #expect(emulator.space(id) == nil)
            await other.stop()  // as a server that is stopped twice
        }
    }

    /// All waits for a space end with it: those of its readers, and the requests under way.
    @Test func theEventsOfASpaceEndWithIt() async throws {
        try await withEmulator { emulator in
            let space = try await emulator.makeSpace()
            let events = space.events()
            await space.stop()
            for await _ in events {}
            #expect(emulator.spaces() == [])
        }
    }

    // MARK: Failed tests

    @Test func aFailureIsReportedOnceAndTheSpaceGoesAsItIsAsked() async throws {
        let reports = Mutex<[Emulator.FailedSpace]>([])
        var configuration = Emulator.Configuration()
        configuration.reportFailedSpace = { report in reports.withLock { $0.append(report) } }
        try await withEmulator(configuration) { emulator in
            let space = try await emulator.makeSpace(named: "a test")
            try await space.cloud.register(userID: "alice")
            let path = "/_emulator/spaces/\(try #require(space.spaceID))"
            for reason in ["first", "second"] {
                let failed = try await emulator.send("POST", path + "/failure", body: #"{"reason":"\#(reason)"}"#)
                #expect(failed.status == 200)
                #expect(try self.json(failed)["failure"] == "first")
            }
            #expect(emulator.spaces().map(\.failure) == ["first"])
            #expect(try await emulator.send("DELETE", path).status == 200)
            #expect(emulator.spaces() == [])
            let report = try #require(reports.withLock { $0.first })
            #expect(report.summary.name == "a test" && report.summary.failure == "first")
            #expect(report.events == "operations: 0, refused: 0")
            #expect(try JSONValue(parsing: report.documents[0].content)["refused"] == 0)
            #expect(report.documents.map(\.name) == ["summary.json", "state.json", "journal.json"])
            for document in report.documents { _ = try JSONValue(parsing: document.content) }
            let restored = try await emulator.makeSpace(from: .state(Data(report.documents[1].content)))
            #expect(await restored.activations().map(\.userID) == ["alice"])
            #expect(reports.withLock { $0.count } == 1)
        }
    }

    @Test func aServerKeepsFailedSpacesUntilItsEnd() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.keepsFailedSpaces = true }) { emulator in
            let (failed, passed) = (try await emulator.makeSpace(), try await emulator.makeSpace())
            #expect(try await failed.markFailed(because: "so"))
            for space in [failed, passed] { await space.stop() }
            #expect(emulator.spaces().map(\.id) == [failed.spaceID])
            #expect(try await emulator.send("DELETE", "/_emulator/spaces").status == 200)
            let id = try #require(failed.spaceID)
            #expect(try await emulator.send("GET", "/spaces/\(id)/health").status == 200)
            await #expect(throws: EmulatorError.self) { try await passed.markFailed() }
            await #expect(throws: EmulatorError.self) { try await emulator.markFailed() }
            await emulator.stop()
            #expect(emulator.spaces() == [])
        }
    }

    @Test func aDataFileHoldsNoSpace() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = Emulator.Configuration()
        configuration.dataFile = folder.appending(path: "state.sqlite").path
        try await withEmulator(configuration) { emulator in
            let written = try #require(await emulator.core.dataFileStatistics)
            let space = try await emulator.makeSpace()
            try await space.cloud.register(userID: "alice")
            #expect(await emulator.core.dataFileStatistics == written)
        }
        try await withEmulator(configuration) { #expect($0.spaces() == []) }
    }
}
