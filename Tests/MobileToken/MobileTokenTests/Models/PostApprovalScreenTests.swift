import ExactJSON
import MobileToken
import OperationScreens
import Testing

@Suite struct PostApprovalScreenTests {
    private func read(_ screen: JSONValue) throws -> (screen: OperationUI.PostApprovalScreen?, issues: [String]) {
        let (operation, issues) = try self.operation(with: screen)
        return (try #require(operation.ui).postApprovalScreen, issues)
    }

    private func operation(with screen: JSONValue) throws -> (UserOperation, issues: [String]) {
        let operation = try UserOperation(parsing: ServerJSON.operation(ui: ["postApprovalScreen": screen]))
        return (operation, operation.issuePaths)
    }

    private func json(_ type: String, _ payload: JSONValue?) -> JSONValue {
        let json: JSONValue = ["type": .string(type), "heading": "H", "message": "M"]
        return json.with("payload", payload)
    }

    @Test func reviewLosesOnlyTheAttributesThatDoNotDecode() throws {
        let (operation, issues) = try self.operation(
            with: self.json(
                "REVIEW",
                [
                    "attributes": [
                        ["type": "NOTE", "id": "1", "label": "test label", "note": "myNote"],
                        ["type": "NOTE", "id": "2", "label": "without a note"],
                        nil,
                        ["type": "FUTURE", "id": "3", "label": "L"],
                        ["id": "4", "label": "without a type"],
                    ]
                ]
            )
        )
        let future: JSONValue = ["type": "FUTURE", "id": "3", "label": "L"]
        #expect(operation.ui?.postApprovalScreen?.content == .review)
        #expect(
            operation.reviewAttributes == [
                UserOperation.Attribute(id: "1", label: "test label", content: .note("myNote")),
                UserOperation.Attribute(id: "3", label: "L", content: .unknown(type: "FUTURE", json: future)),
            ]
        )
        #expect(
            issues == [
                "ui.postApprovalScreen.payload.attributes[1].note", "ui.postApprovalScreen.payload.attributes[2]",
                "ui.postApprovalScreen.payload.attributes[4].type",
            ]
        )
    }

    @Test(arguments: [nil, .null, [:], ["attributes": nil]] as [JSONValue?])
    func aReviewMayHaveNothingToShow(payload: JSONValue?) throws {
        let (operation, issues) = try self.operation(with: self.json("REVIEW", payload))
        #expect(operation.ui?.postApprovalScreen?.content == .review && operation.reviewAttributes.isEmpty)
        #expect(issues.isEmpty)
    }

    @Test(arguments: ["MERCHANT_REDIRECT", "REDIRECT"])
    func redirectsNeedTextAddressAndSeconds(type: String) throws {
        let payload: JSONValue = ["redirectText": "Go", "redirectUrl": "https://a", "countdown": 5]
        #expect(
            try self.read(self.json(type, payload)).screen
                == OperationUI.PostApprovalScreen(
                    heading: "H",
                    message: "M",
                    content: .redirect(.init(text: "Go", url: "https://a", countdown: 5))
                )
        )
        for (member, value) in [
            ("redirectText", nil), ("redirectUrl", 5), ("countdown", nil), ("countdown", 2.5), ("countdown", "5"),
            ("countdown", -1),
        ] as [(String, JSONValue?)] {
            let (screen, issues) = try self.read(self.json(type, payload.with(member, value)))
            #expect(screen == nil)
            #expect(issues == ["ui.postApprovalScreen.payload.\(member)"])
        }
        for member in ["heading", "message"] {
            let (screen, issues) = try self.read(self.json(type, payload).with(member, nil))
            #expect(screen == nil)
            #expect(issues == ["ui.postApprovalScreen.\(member)"])
        }
        #expect(try self.read(self.json(type, nil)).screen == nil)
    }

    @Test(arguments: [nil, .null, "text", 5, [1, nil], ["nested": ["a": [true]]]] as [JSONValue?])
    func genericTakesAnyPayload(payload: JSONValue?) throws {
        let (screen, issues) = try self.read(self.json("GENERIC", payload))
        #expect(screen?.content == .generic(payload == .null ? nil : payload))
        #expect(issues.isEmpty)
    }

    @Test func anUnknownTypeIsKeptWithItsPayload() throws {
        let (screen, issues) = try self.read(self.json("FIREWORKS", ["colour": "red"]))
        #expect(screen?.content == .unknown(type: "FIREWORKS", payload: ["colour": "red"]))
        #expect(issues.isEmpty)
    }

    @Test(
        arguments: [
            ["type": "GENERIC", "message": "M"], ["type": "GENERIC", "heading": "H"], ["heading": "H", "message": "M"],
            ["type": 5, "heading": "H", "message": "M"], "GENERIC", [], 5,
        ] as [JSONValue]
    )
    func whatIsNoScreenIsNilAndReported(json: JSONValue) throws {
        let (screen, issues) = try self.read(json)
        #expect(screen == nil)
        #expect(issues.count == 1)
        #expect(issues.first?.hasPrefix("ui.postApprovalScreen") == true)
    }
}
