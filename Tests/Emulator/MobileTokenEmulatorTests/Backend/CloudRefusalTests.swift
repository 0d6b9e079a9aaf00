import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Requests of the bank that cannot be carried out, refused by name and with the value that is wrong.
@Suite struct CloudRefusalTests {
    /// Whoever tests a bot sends it what no device can show; templates are checked.
    @Test(arguments: ["x", [1], [["type": "AMOUNT"]]] as [JSONValue])
    func aFormOfOnesOwnIsTakenAsItIs(attributes: JSONValue) throws {
        var fixture = try BackendFixture()
        let form: JSONValue = ["title": "t", "message": "m", "attributes": attributes]
        let body: JSONValue = ["userId": "alice", "operationType": "o", "data": "A1", "formData": form]
        #expect(fixture.cloud("POST", "/v2/operations", body).status == 200)
    }

    @Test(arguments: ["/v2/inbox/messages", "/v2/messages/send"]) func usersHaveABound(path: String) throws {
        var fixture = try BackendFixture()
        for (count, isTaken) in [(255, true), (256, false)] {
            let body: JSONValue = [
                "userId": .string(String(repeating: "u", count: count)), "subject": "s", "summary": "s", "body": "b",
                "title": "t", "message": "m",
            ]
            #expect((fixture.cloud("POST", path, body).status == 200) == isTaken, "\(count)")
        }
    }

    @Test func flagsOfNoRegistrationAreNotFound() throws {
        var fixture = try BackendFixture()
        for method in ["GET", "POST", "DELETE"] {
            let body: JSONValue? = method == "GET" ? nil : ["flags": ["A"]]
            let refused = fixture.cloud(method, "/v2/registrations/none/flags", body)
            #expect(refused.outcome == "404 ERROR_NOT_FOUND", "\(method)")
        }
    }

    @Test(
        arguments: [
            ("/v2/operations", ["template": "login", "data": "A1"], "data", "A1"),
            ("/v2/operations", ["template": "login", "expiresIn": 60, "timestampExpires": 1], "timestampExpires", 1),
            ("/v2/registrations", ["userId": "a", "otpValidation": "NONE", "otp": "1"], "otpValidation", "NONE"),
        ] as [(String, JSONValue, String, JSONValue)]
    )
    func aValueThatWasGivenIsTold(path: String, body: JSONValue, member: String, value: JSONValue) throws {
        var fixture = try BackendFixture()
        let violation = fixture.cloud("POST", path, body).object["violations"]?[0]
        #expect(violation?["fieldName"]?.string == member && violation?["invalidValue"] == value)
    }

    @Test func theServersOwnUserIsTaken() throws {
        var fixture = try BackendFixture()
        for (name, isTaken) in [("cloud", true), ("clou", false), ("cloud2", false)] {
            let made = fixture.cloud("POST", "/admin/users", ["username": .string(name)])
            #expect((made.status == 400) == isTaken, "\(name): \(made.outcome)")
        }
    }

    @Test func aConfiguredValueMayBeNull() throws {
        var fixture = try BackendFixture()
        let id = fixture.backend.defaultApplication.id
        let entry: JSONValue = ["key": "limit", "value": .null, "scope": "APPLICATION"]
        let set = fixture.cloud("PUT", "/v2/applications/\(id)/config", ["config": [entry]])
        #expect(try JSONValue(parsing: set.body)["config"]?[0] == entry, "\(set.outcome)")
        let document = try fixture.backend.exported()
        let imported = try Backend(document: document, BackendFixture.configuration)
        #expect(try imported.exported() == document)
        let unset: JSONValue = ["config": [["key": "k", "scope": "APPLICATION"]]]
        let missing = fixture.cloud("PUT", "/v2/applications/\(id)/config", unset)
        #expect(missing.object["message"] == "'config[0].value' is missing")
    }
}
