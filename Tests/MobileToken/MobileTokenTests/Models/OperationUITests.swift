import ExactJSON
import MobileToken
import OperationScreens
import Testing

@Suite struct OperationUITests {
    private func read(_ ui: JSONValue) throws -> (ui: OperationUI, issues: [String]) {
        let operation = try UserOperation(parsing: ServerJSON.operation(ui: ui))
        return (try #require(operation.ui), operation.issuePaths)
    }

    private func screen(_ json: JSONValue) throws -> (screen: OperationUI.PreApprovalScreen?, issues: [String]) {
        let (ui, issues) = try self.read(["preApprovalScreens": [json]])
        return (ui.preApprovalScreens.first, issues)
    }

    private static let warning: JSONValue = ["type": "WARNING", "heading": "Watch out!", "message": "Beware."]

    // MARK: Flags and templates

    @Test func readsFlagsAndTemplates() throws {
        let templates: JSONValue = ["list": ["style": "POSITIVE"], "detail": ["sections": [["cells": nil]]]]
        let (ui, issues) = try self.read(["flipButtons": true, "blockApprovalOnCall": false, "templates": templates])
        #expect(ui == OperationUI(flipButtons: true, blockApprovalOnCall: false, templates: templates))
        #expect(issues.isEmpty)
        #expect(try self.read([:]).ui == OperationUI())
    }

    @Test(arguments: ["true", 1, [], [:]] as [JSONValue], [true, false])
    func aFlagThatIsNoBooleanIsNil(value: JSONValue, isFirst: Bool) throws {
        let (ui, issues) = try self.read([
            "flipButtons": isFirst ? value : true, "blockApprovalOnCall": isFirst ? true : value,
        ])
        #expect(ui.flipButtons == (isFirst ? nil : true))
        #expect(ui.blockApprovalOnCall == (isFirst ? true : nil))
        #expect(issues == [isFirst ? "ui.flipButtons" : "ui.blockApprovalOnCall"])
    }

    // MARK: Which screens

    @Test func pluralScreensWinWhenTheListIsThereEvenEmpty() throws {
        let plural: JSONValue = ["type": "INFO", "heading": "H", "message": "M"]
        let both = try self.read(["preApprovalScreens": [plural], "preApprovalScreen": Self.warning])
        #expect(both.ui.preApprovalScreens.map(\.kind) == [.info])
        let empty = try self.read(["preApprovalScreens": [], "preApprovalScreen": Self.warning])
        #expect(empty.ui.preApprovalScreens.isEmpty && empty.issues.isEmpty)
    }

    @Test(
        arguments: [(nil, []), (.null, []), ("text", ["ui.preApprovalScreens"]), ([:], ["ui.preApprovalScreens"])]
            as [(JSONValue?, [String])]
    )
    func withoutAListTheSingularScreenIsUsed(plural: JSONValue?, issues: [String]) throws {
        let json: JSONValue = ["preApprovalScreen": Self.warning]
        let result = try self.read(json.with("preApprovalScreens", plural))
        #expect(result.ui.preApprovalScreens.map(\.kind) == [.warning])
        #expect(result.issues == issues)
    }

    @Test func theSingularScreenIsOfferedAsTheSameModel() throws {
        let json = Self.warning.with("items", ["one", "two"]).with("approvalType", "SLIDER")
        let (ui, issues) = try self.read(["preApprovalScreen": json])
        #expect(
            ui.preApprovalScreens == [
                OperationUI.PreApprovalScreen(
                    kind: .warning,
                    heading: "Watch out!",
                    message: "Beware.",
                    elements: [
                        OperationUI.PreApprovalElement(content: .listItem(text: "one")),
                        OperationUI.PreApprovalElement(content: .listItem(text: "two")),
                    ],
                    controls: OperationUI.PreApprovalControls(approve: .init(kind: .slider))
                )
            ]
        )
        #expect(issues.isEmpty)
    }

    @Test func theSingularScreenLosesOnlyWhatCannotBeRead() throws {
        let odd = Self.warning.with("items", ["one", 2]).with("approvalType", "LEVER")
        let (ui, issues) = try self.read(["preApprovalScreen": odd])
        #expect(ui.preApprovalScreens.first?.elements.map(\.content) == [.listItem(text: "one")])
        #expect(ui.preApprovalScreens.first?.controls == nil)
        #expect(Set(issues) == ["ui.preApprovalScreen.items[1]", "ui.preApprovalScreen.approvalType"])
        // Row `risk flags 'XCF' without ui` has neither; newer servers list their screens.
        for missing in [["heading"], ["message"], ["heading", "message"]] {
            let warning = missing.reduce(Self.warning) { $0.with($1, nil) }
            for json in [["preApprovalScreen": warning], ["preApprovalScreens": [warning]]] as [JSONValue] {
                let (ui, issues) = try self.read(json)
                let screen = try #require(ui.preApprovalScreens.first)
                #expect(screen.heading == (missing.contains("heading") ? "Warning" : "Watch out!"))
                let words = "The bank warns of fraud, and gives no reason."
                #expect(screen.message == (missing.contains("message") ? words : "Beware."))
                #expect(issues == [])
            }
        }
    }

    // MARK: One screen

    @Test func readsAWholeScreen() throws {
        let (screen, issues) = try self.screen([
            "id": "s1", "type": "QR_SCAN", "heading": "H", "message": "M", "backButton": true, "image": "camera",
            "elements": [
                ["id": "e1", "type": "LISTITEM", "text": "one", "icon": "check"],
                ["type": "LIST_ITEM", "text": "two"],
                ["type": "ALERT", "style": "WARNING", "text": "three"],
                [
                    "type": "BUTTON", "action": "LINK", "text": "four", "href": "https://a",
                    "actionSettings": ["inApp": true],
                ],
            ],
            "controls": [
                "flip": true, "axis": "VERTICAL", "decline": ["type": "REJECT", "text": "No"],
                "approve": ["type": "BUTTON", "text": "Yes", "counter": 5],
            ],
        ])
        let button = OperationUI.PreApprovalElement.Button(
            text: "four",
            action: .link,
            href: "https://a",
            otherMembers: ["actionSettings": ["inApp": true]]
        )
        #expect(
            screen
                == OperationUI.PreApprovalScreen(
                    id: "s1",
                    kind: .qrScan,
                    heading: "H",
                    message: "M",
                    backButton: true,
                    image: "camera",
                    elements: [
                        OperationUI.PreApprovalElement(id: "e1", icon: "check", content: .listItem(text: "one")),
                        OperationUI.PreApprovalElement(content: .listItem(text: "two")),
                        OperationUI.PreApprovalElement(content: .alert(text: "three", style: .warning)),
                        OperationUI.PreApprovalElement(content: .button(button)),
                    ],
                    controls: OperationUI.PreApprovalControls(
                        flip: true,
                        axis: .vertical,
                        decline: .init(kind: .reject, text: "No"),
                        approve: .init(kind: .button, text: "Yes", counter: 5)
                    )
                )
        )
        #expect(issues.isEmpty)
    }

    @Test(arguments: [
        ("FUTURE", OperationUI.PreApprovalScreen.Kind.unknown("FUTURE")), ("info", .unknown("info")), ("INFO", .info),
    ])
    func aScreenOfUnknownTypeIsKept(type: String, kind: OperationUI.PreApprovalScreen.Kind) throws {
        let (screen, issues) = try self.screen(["type": .string(type), "heading": "H", "message": "M"])
        #expect(screen == OperationUI.PreApprovalScreen(kind: kind, heading: "H", message: "M"))
        #expect(issues.isEmpty)
    }

    @Test(
        arguments: [
            ["type": "INFO", "message": "M"], ["type": "INFO", "heading": "H"], ["type": "INFO"],
            ["type": "INFO", "heading": "H", "message": 5],
        ] as [JSONValue]
    )
    func aScreenWithoutItsTextsGetsOurs(json: JSONValue) throws {
        let (screen, issues) = try self.screen(json)
        #expect(screen?.heading.isEmpty == false && screen?.message.isEmpty == false)
        #expect(issues == (json["message"] == 5 ? ["ui.preApprovalScreens[0].message"] : []))
    }

    @Test(arguments: ["screen", nil, 5, []] as [JSONValue])
    func aScreenThatIsNoneIsLeftOutAndReported(json: JSONValue) throws {
        let (ui, issues) = try self.read(["preApprovalScreens": [json, Self.warning]])
        #expect(ui.preApprovalScreens.map(\.kind) == [.warning])
        #expect(issues.count == 1)
        #expect(issues.first?.hasPrefix("ui.preApprovalScreens[0]") == true)
    }

    @Test(arguments: [nil, .null, []] as [JSONValue?])
    func noElementsEqualNone(elements: JSONValue?) throws {
        let (screen, issues) = try self.screen(Self.warning.with("elements", elements))
        #expect(screen?.elements.isEmpty == true)
        #expect(issues.isEmpty)
        let single = try self.read(["preApprovalScreen": Self.warning.with("items", elements)])
        #expect(single.ui.preApprovalScreens == screen.map { [$0] } && single.issues.isEmpty)
    }

    @Test(
        arguments: [
            ["text": "no type"], ["type": "LISTITEM"], ["type": "ALERT", "style": "INFO"],
            ["type": "BUTTON", "action": "LINK"], ["type": "LIST_ITEM", "text": 5], ["type": 5, "text": "t"], nil,
            "text",
        ] as [JSONValue]
    )
    func anElementWithoutTypeOrTextIsLeftOutAndReported(json: JSONValue) throws {
        let (screen, issues) = try self.screen(
            Self.warning.with("elements", [json, ["type": "LISTITEM", "text": "ok"]])
        )
        #expect(screen?.elements == [OperationUI.PreApprovalElement(content: .listItem(text: "ok"))])
        #expect(issues.count == 1)
        #expect(issues.first?.hasPrefix("ui.preApprovalScreens[0].elements[0]") == true)
    }

    @Test func unknownTypesStylesAndActionsKeepTheirText() throws {
        let video: JSONValue = ["type": "VIDEO", "id": "v", "src": "https://v"]
        let (screen, issues) = try self.screen(
            Self.warning.with(
                "elements",
                [
                    video, ["type": "ALERT", "style": "PINK", "text": "t"],
                    ["type": "LIST_ITEM", "style": "SUCCESS", "text": "l"],
                    ["type": "BUTTON", "action": "WAVE", "text": "b"],
                    ["type": "BUTTON", "action": "LIN\u{212A}", "text": "b"],
                ]
            )
        )
        #expect(
            screen?.elements == [
                OperationUI.PreApprovalElement(id: "v", content: .unknown(type: "VIDEO", json: video)),
                OperationUI.PreApprovalElement(content: .alert(text: "t", style: .unknown("PINK"))),
                OperationUI.PreApprovalElement(content: .listItem(text: "l", style: .unknown("SUCCESS"))),
                OperationUI.PreApprovalElement(content: .button(.init(text: "b", action: .unknown("WAVE")))),
                OperationUI.PreApprovalElement(content: .button(.init(text: "b", action: .unknown("LIN\u{212A}")))),
            ]
        )
        #expect(issues.isEmpty)
    }

    /// `SUCCESS` and `ERROR` are styles of alert attributes.
    @Test(
        arguments: ["ALERT", "LISTITEM", "LIST_ITEM"],
        [
            ("INFO", OperationUI.PreApprovalElement.Style.info), ("WARNING", .warning), ("DANGER", .danger),
            ("SUCCESS", .unknown("SUCCESS")), ("ERROR", .unknown("ERROR")), ("info", .unknown("info")),
            ("", .unknown("")),
        ]
    )
    func stylesAreMatchedExactly(type: String, style: (text: String, read: OperationUI.PreApprovalElement.Style)) throws
    {
        let json: JSONValue = ["type": .string(type), "text": "t", "style": .string(style.text)]
        let (screen, issues) = try self.screen(Self.warning.with("elements", [json]))
        let content: OperationUI.PreApprovalElement.Content =
            type == "ALERT" ? .alert(text: "t", style: style.read) : .listItem(text: "t", style: style.read)
        #expect(screen?.elements == [OperationUI.PreApprovalElement(content: content)] && issues.isEmpty)
    }

    // MARK: Controls

    @Test(
        arguments: [
            (["axis": "DIAGONAL", "flip": true], OperationUI.PreApprovalControls(flip: true), ["axis"]),
            (
                ["decline": ["type": "SHRUG"], "flip": false], OperationUI.PreApprovalControls(flip: false),
                ["decline.type"]
            ),
            (["decline": ["text": "No"]], OperationUI.PreApprovalControls(), ["decline.type"]),
            (["decline": "BACK"], OperationUI.PreApprovalControls(), ["decline"]),
            (
                ["decline": ["type": "BACK", "text": 5]], OperationUI.PreApprovalControls(decline: .init(kind: .back)),
                ["decline.text"]
            ),
            (["approve": ["type": "WISH", "counter": 5]], OperationUI.PreApprovalControls(), ["approve.type"]),
            (
                ["approve": ["type": "SLIDER", "counter": 2.5]],
                OperationUI.PreApprovalControls(approve: .init(kind: .slider)),
                ["approve.counter"]
            ),
            (
                ["approve": ["type": "SLIDER", "counter": -1]],
                OperationUI.PreApprovalControls(approve: .init(kind: .slider)),
                ["approve.counter"]
            ),
            ([:], OperationUI.PreApprovalControls(), []),
        ] as [(JSONValue, OperationUI.PreApprovalControls, [String])]
    )
    func unknownOrHalfFilledControlsAreNil(
        json: JSONValue,
        controls: OperationUI.PreApprovalControls,
        members: [String]
    ) throws {
        let (screen, issues) = try self.screen(Self.warning.with("controls", json))
        #expect(screen?.controls == controls)
        #expect(issues == members.map { "ui.preApprovalScreens[0].controls.\($0)" })
    }

    @Test(arguments: ["SLIDER", 5, []] as [JSONValue]) func controlsNeverCostTheScreen(json: JSONValue) throws {
        let (screen, issues) = try self.screen(Self.warning.with("controls", json))
        #expect(screen?.heading == "Watch out!")
        #expect(screen?.controls == nil)
        #expect(issues == ["ui.preApprovalScreens[0].controls"])
    }
}
