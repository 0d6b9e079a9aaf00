import ExactJSON
import MobileTokenTesting
import Testing

/// A request to the routes of virtual devices, and how it is refused.
typealias WrongRequest = (method: String, path: String, body: String?, status: Int, message: String)

extension Emulator {
    func expectRefusals(of requests: [WrongRequest]) async throws {
        for request in requests {
            let path = "/_emulator/devices" + request.path
            let refused = try await self.send(request.method, path, body: request.body)
            #expect(refused.status == request.status, "\(request) \(refused.text)")
            #expect(refused.text.contains(request.message), "\(request) \(refused.text)")
        }
    }
}

/// The routes of virtual devices, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct DeviceRouteTests {
    @Test func aDeviceIsMadeListedChangedAndRemoved() async throws {
        try await withEmulator { emulator in
            let body = #"{"userId":"alice","name":"phone","version":"3.3","rule":{"decision":"never"}}"#
            let (status, device) = try await emulator.ask("/devices", method: "POST", body: body)
            #expect(status == 200, "\(device)")
            let id = try #require(device["id"]?.string)
            #expect(device["name"] == "phone" && device["userId"] == "alice" && device["status"] == "ACTIVE")
            #expect(device["rule"]?["decision"] == "never" && device["rule"]?["after"] == 0)

            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            let decision = #"{"operationId":"\#(operation)","decision":"reject","reason":"X"}"#
            let decided = try await emulator.ask("/devices/\(id)/decisions", method: "POST", body: decision)
            let task = decided.body["tasks"]?.array?.last
            #expect(task?["state"] == "done" && task?["isByHand"] == true && task?["failure"] == nil)
            #expect(await emulator.operations().first?.rejectReason == "X")

            let rule = #"{"decision":"reject","after":1.5,"reason":"Y"}"#
            let changed = try await emulator.ask("/devices/\(id)/rule", method: "PUT", body: rule)
            #expect(changed.body["rule"]?["reason"] == "Y")
            let list = try await emulator.ask("/devices").body
            #expect(list["total"] == 1 && list["items"]?.array?.first?["id"]?.string == id)
            #expect(try await emulator.send("GET", "/_emulator/devices/\(id)").status == 200)
            #expect(try await emulator.send("DELETE", "/_emulator/devices/\(id)").status == 200)
            #expect(try await emulator.send("GET", "/_emulator/devices/\(id)").status == 404)
        }
    }

    private static let wrongDevices: [(String, String)] = [
        ("[]", "The body is not an object"), ("{", "not JSON"), ("{}", "either 'userId' or 'activationCode'"),
        (#"{"userId":"a","activationCode":"b"}"#, "either 'userId' or 'activationCode'"),
        (#"{"userId":null}"#, "either 'userId' or 'activationCode'"), (#"{"userId":""}"#, "'userId' is empty"),
        (#"{"userId":1}"#, "'userId' is not a string"), (#"{"userID":"a"}"#, "did you mean 'userId'"),
        (#"{"userId":"a","userId":"b"}"#, "'userId'"),
        (#"{"userId":"a","version":"2.1"}"#, "none of 3.1, 3.2, 3.3, 4.0"),
        (#"{"userId":"a","version":"4.0","suite":"EC_P256"}"#, "'suite' is none of EC_P384, "),
        (#"{"userId":"a","suite":"EC_P384"}"#, "'suite' is for a device of version 4.0"),
        (#"{"userId":"a","name":""}"#, "'name'"),
        (#"{"userId":"a","name":"\#(String(repeating: "x", count: 256))"}"#, "'name' must have 1 to 255 bytes"),
        (#"{"userId":"a","rule":"approve"}"#, "'rule' is not an object"),
        (#"{"userId":"a","rule":{"decision":"maybe"}}"#, "none of approve, reject, wrongPassword, never"),
        (#"{"userId":"a","rule":{"after":-1}}"#, "'rule.after' is not 0.0 to 86400.0"),
        (#"{"userId":"a","rule":{"after":86401}}"#, "'rule.after'"),
        (#"{"userId":"a","rule":{"after":"1"}}"#, "'rule.after' is not a number"),
        (#"{"userId":"a","rule":{"afer":1}}"#, "did you mean"),
        (#"{"userId":"a","rule":{"reason":""}}"#, "'rule.reason'"),
        (#"{"userId":"a","rule":{"reason":"\#(String(repeating: "x", count: 256))"}}"#, "'reason' must have"),
    ]

    private static let wrongDecisions: [(String, String)] = [
        ("{}", "'operationId' is missing"), (#"{"operationId":"a"}"#, "'decision' is missing"),
        (#"{"operationId":"a","decision":"never"}"#, "none of approve, reject, wrongPassword"),
        (#"{"operationId":"","decision":"approve"}"#, "'operationId' is missing"),
        (#"{"operationId":7,"decision":"approve"}"#, "'operationId' is not a string"),
        (#"{"operationId":"a","decision":"reject","reason":7}"#, "'reason' is not a string"),
        (#"{"operationId":"a","decision":"approve","proximityCode":1}"#, "'proximityCode' is not a string"),
        (#"{"operationId":"a","decision":"approve","otp":"1"}"#, "'otp' is not known here"),
    ]

    private static let wrongRules: [(String, String)] = [
        (#"{"decision":"sometimes"}"#, "none of approve"), (#"{"after":1e9}"#, "'after'"), ("7", "not an object"),
        (#"{"rule":{}}"#, "'rule' is not known here"),
    ]

    /// Each wrong input to each route, refused by name, and nothing is made, changed or removed.
    @Test func wrongRequestsAreRefusedByNameAndChangeNothing() async throws {
        try await withEmulator { emulator in
            let id = try await emulator.makeDevice(userID: "alice", rule: .init(.never)).id
            var requests: [WrongRequest] = [
                ("PUT", "", "{}", 405, "Allowed here: GET, POST"), ("POST", "/\(id)", "{}", 405, "Allowed here"),
                ("GET", "/none", nil, 404, "There is no such virtual device"),
                ("DELETE", "/none", nil, 404, "There is no such virtual device"),
                ("PUT", "/none/rule", "{}", 404, "There is no such virtual device"),
                (
                    "POST", "/none/decisions", #"{"operationId":"a","decision":"approve"}"#, 404,
                    "There is no such virtual device"
                ),
                ("POST", "/\(id)/rule", "{}", 405, "Allowed here: PUT"),
                ("GET", "/\(id)/none", nil, 404, "no such path"),
                ("GET", "?limit=1001", nil, 400, "limit"), ("POST", "", nil, 415, "application/json"),
                ("POST", "", #"{"activationCode":"x"}"#, 409, "The activation code is malformed"),
                ("POST", "", #"{"activationCode":"AAAAA-AAAAA-AAAAA-AAAAA"}"#, 409, "ERR_ACTIVATION"),
            ]
            requests += Self.wrongDevices.map { ("POST", "", $0, 400, $1) }
            requests += Self.wrongDecisions.map { ("POST", "/\(id)/decisions", $0, 400, $1) }
            requests += Self.wrongRules.map { ("PUT", "/\(id)/rule", $0, 400, $1) }
            // Its counter moves when it has fetched a token, and then no more.
            let other = try await emulator.cloud.createOperation("login", userID: "alice").id
            try await emulator.decide(other, .reject, byDevice: id)
            let before = (await emulator.devices(), await emulator.activations())
            try await emulator.expectRefusals(of: requests)
            #expect(await emulator.devices() == before.0)
            #expect(await emulator.activations() == before.1)
        }
    }

    @Test func aDecisionOfAnOperationThatIsNoneIsRefusedAndToldInItsTask() async throws {
        try await withEmulator { emulator in
            let id = try await emulator.makeDevice(userID: "alice").id
            let decision = #"{"operationId":"none","decision":"approve"}"#
            let response = try await emulator.send("POST", "/_emulator/devices/\(id)/decisions", body: decision)
            let reason = "the operation is none of those that wait for the device"
            #expect(response.status == 409 && response.text.contains(reason), "\(response.text)")
            let task = try await emulator.device(id).tasks.last
            #expect(task?.state == .failed && task?.failure == reason)
        }
    }
}
