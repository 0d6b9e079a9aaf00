import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Requests of the bank that cannot be carried out, refused by name and with the value that is wrong.
@Suite struct CloudRefusalTests {
    private static func form(_ attributes: JSONValue) -> JSONValue {
        [
            "userId": "alice", "operationType": "o", "data": "A1",
            "formData": ["title": "t", "message": "m", "attributes": attributes],
        ]
    }

    /// Of a form of its own as much is asked as of a template: no device could show the rest.
    @Test(
        arguments: [
            ("x", "formData.attributes", "is not a list"), ([1], "formData.attributes[0]", "is not an object"),
            ([["id": "a"]], "formData.attributes[0].type", "is missing"),
            (
                [["type": "NOTE", "note": "n"], ["type": "AMOUNT", "id": "a"]], "formData.attributes[1].amount",
                "is missing: without it no device can show AMOUNT"
            ),
        ] as [(JSONValue, String, String)]
    )
    func aFormThatNoDeviceCanShow(attributes: JSONValue, member: String, hint: String) throws {
        var fixture = try BackendFixture()
        let refused = fixture.cloud("POST", "/v2/operations", Self.form(attributes))
        #expect(refused.outcome == "400 ERROR_REQUEST" || refused.outcome == "400 INVALID_REQUEST")
        let violation = refused.object["violations"]?[0]
        #expect(violation?["fieldName"]?.string == member && violation?["hint"]?.string == hint)
        #expect(fixture.cloud("POST", "/v2/operations", Self.form([["type": "NOTE", "note": "n"]])).status == 200)
    }


}
