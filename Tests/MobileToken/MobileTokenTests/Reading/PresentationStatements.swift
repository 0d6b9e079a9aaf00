import ExactJSON
import MobileToken
import OperationScreens
import TestSupport
import Testing

/// "How outside input is read", section "UI data".
@Suite struct PresentationStatements {
    private static func ui(_ json: JSONValue) throws -> (ui: OperationUI?, issues: [String]) {
        let operation = try UserOperation(parsing: ServerJSON.operation(ui: json))
        return (operation.ui, operation.issuePaths)
    }

    private static let screen: JSONValue = ["type": "INFO", "heading": "H", "message": "M"]

    private static func elements(_ elements: JSONValue...) throws -> (OperationUI.PreApprovalScreen?, issues: [String])
    {
        let json = Self.screen.with("elements", .array(elements))
        let (ui, issues) = try Self.ui(["preApprovalScreens": [json]])
        return (ui?.preApprovalScreens.first, issues)
    }

    private static func post(_ json: JSONValue) throws -> (OperationUI.PostApprovalScreen?, issues: [String]) {
        let (ui, issues) = try Self.ui(["postApprovalScreen": json])
        return (ui?.postApprovalScreen, issues)
    }

    private static let redirect: JSONValue = [
        "type": "REDIRECT", "heading": "H", "message": "M",
        "payload": ["redirectText": "T", "redirectUrl": "https://a", "countdown": 5],
    ]

    private static let statements: [Statement] = [
        Statement("a flag that is not a Boolean is nil") {
            let (ui, issues) = try Self.ui(["flipButtons": "true", "blockApprovalOnCall": 1])
            return ui?.flipButtons == nil && ui?.blockApprovalOnCall == nil && issues.count == 2
        },
        Statement("plural screens win when the list is there, even empty") {
            try Self.ui(["preApprovalScreens": [], "preApprovalScreen": Self.screen]).ui?.preApprovalScreens == []
        },
        Statement("when it is null or no list, the singular one is used") {
            try ([nil, "screens"] as [JSONValue]).allSatisfy { list in
                let ui = try Self.ui(["preApprovalScreens": list, "preApprovalScreen": Self.screen]).ui
                return ui?.preApprovalScreens.map(\.heading) == ["H"]
            }
        },
        Statement("a screen of unknown type is kept as unknown") {
            let ui = try Self.ui(["preApprovalScreens": [Self.screen.with("type", "HOLOGRAM")]]).ui
            return ui?.preApprovalScreens.map(\.kind) == [.unknown("HOLOGRAM")]
        },
        Statement("one without heading or message gets ours; one that is no object: left out, reported") {
            let screens: JSONValue = [Self.screen.with("heading", nil), Self.screen.with("message", 5), "screen", nil]
            let (ui, issues) = try Self.ui(["preApprovalScreens": screens])
            let read = ui?.preApprovalScreens ?? []
            return read.count == 2 && read.allSatisfy { !$0.heading.isEmpty && !$0.message.isEmpty }
                && issues.count == 3
        },
        Statement("an element without type, or of a known type without its text: left out") {
            let (screen, issues) = try Self.elements(
                ["text": "t"],
                ["type": "LIST_ITEM"],
                ["type": "ALERT", "style": "INFO"],
                ["type": "BUTTON", "action": "LINK"]
            )
            return screen?.elements.isEmpty == true && issues.count == 4
        },
        Statement("unknown types, styles and actions keep their text") {
            let video: JSONValue = ["type": "VIDEO"]
            let (screen, issues) = try Self.elements(
                video,
                ["type": "ALERT", "style": "PINK", "text": "t"],
                ["type": "BUTTON", "action": "WAVE", "text": "t"],
                ["type": "BUTTON", "action": "LIN\u{212A}", "text": "t"]
            )
            return issues.isEmpty
                && screen?.elements.map(\.content) == [
                    .unknown(type: "VIDEO", json: video), .alert(text: "t", style: .unknown("PINK")),
                    .button(.init(text: "t", action: .unknown("WAVE"))),
                    .button(.init(text: "t", action: .unknown("LIN\u{212A}"))),
                ]
        },
        Statement("id and icon optional") {
            let (screen, issues) = try Self.elements(["type": "LIST_ITEM", "text": "t"])
            return screen?.elements == [OperationUI.PreApprovalElement(content: .listItem(text: "t"))] && issues.isEmpty
        },
        Statement("other members of a button kept raw") {
            let (screen, _) = try Self.elements(["type": "BUTTON", "text": "t", "actionSettings": ["a": [1, nil]]])
            guard case .button(let button)? = screen?.elements.first?.content else { return false }
            return button.otherMembers == ["actionSettings": ["a": [1, nil]]]
        },
        Statement("styles are INFO, WARNING and DANGER, on alerts") {
            let (screen, _) = try Self.elements(
                ["type": "ALERT", "text": "t", "style": "INFO"],
                ["type": "ALERT", "text": "t", "style": "WARNING"],
                ["type": "ALERT", "text": "t", "style": "DANGER"]
            )
            let styles: [OperationUI.PreApprovalElement.Style] = [.info, .warning, .danger]
            return screen?.elements.map(\.content) == styles.map { .alert(text: "t", style: $0) }
        },
        Statement("… and on list items") {
            let (screen, _) = try Self.elements(
                ["type": "LISTITEM", "text": "t", "style": "INFO"],
                ["type": "LIST_ITEM", "text": "t", "style": "WARNING"],
                ["type": "LIST_ITEM", "text": "t", "style": "DANGER"]
            )
            let styles: [OperationUI.PreApprovalElement.Style] = [.info, .warning, .danger]
            return screen?.elements.map(\.content) == styles.map { .listItem(text: "t", style: $0) }
        },
        Statement("any other style is kept by its text: SUCCESS and ERROR, which are of alert attributes, too") {
            let texts = ["SUCCESS", "ERROR", "info", "", "PINK"]
            let elements = texts.map { JSONValue.object(["type": "ALERT", "text": "t", "style": .string($0)]) }
            let ui = try Self.ui(["preApprovalScreens": [Self.screen.with("elements", .array(elements))]]).ui
            return ui?.preApprovalScreens.first?.elements.map(\.content)
                == texts.map { .alert(text: "t", style: .unknown($0)) }
        },
        Statement("controls: unknown or half-filled parts are nil, never the screen") {
            try ([["approve": ["type": "WISH"], "decline": ["text": "No"]], 5, []] as [JSONValue]).allSatisfy { json in
                let (ui, issues) = try Self.ui(["preApprovalScreens": [Self.screen.with("controls", json)]])
                let screen = ui?.preApprovalScreens.first
                return screen != nil && screen?.controls?.approve == nil && screen?.controls?.decline == nil
                    && !issues.isEmpty
            }
        },
        Statement("an empty items or elements equals none") {
            let (empty, none) = (Self.screen.with("elements", []), Self.screen)
            let screens = try Self.ui(["preApprovalScreens": [empty, none]]).ui?.preApprovalScreens
            let single = try Self.ui(["preApprovalScreen": Self.screen.with("items", [])]).ui?.preApprovalScreens
            return screens?.count == 2 && screens?[0] == screens?[1] && single == screens.map { [$0[1]] }
        },
        Statement("post-approval screen: heading and message required") {
            try ["heading", "message"].allSatisfy { member in
                let (screen, issues) = try Self.post(Self.redirect.with(member, nil))
                return screen == nil && issues == ["ui.postApprovalScreen.\(member)"]
            }
        },
        Statement("REVIEW loses only the attributes that do not decode") {
            let good: JSONValue = ["type": "HEADING", "id": "1", "label": "L"]
            let screen: JSONValue = [
                "type": "REVIEW", "heading": "H", "message": "M",
                "payload": ["attributes": [good.with("type", nil), good]],
            ]
            let operation = try UserOperation(parsing: ServerJSON.operation(ui: ["postApprovalScreen": screen]))
            let attribute = UserOperation.Attribute(id: "1", label: "L", content: .heading())
            return operation.reviewAttributes == [attribute]
                && operation.issuePaths == ["ui.postApprovalScreen.payload.attributes[0].type"]
        },
        Statement("a redirect needs text, URL and a whole number of seconds") {
            let wrong: [(String, JSONValue?)] = [
                ("redirectText", nil), ("redirectUrl", 5), ("countdown", nil), ("countdown", 2.5), ("countdown", "5"),
                ("countdown", -1),
            ]
            return try Self.post(Self.redirect).0 != nil
                && wrong.allSatisfy { try Self.post(Self.redirect.with("payload", $0, $1)).0 == nil }
        },
        Statement("GENERIC takes any payload, none included") {
            try ([nil, "text", [1, [:]]] as [JSONValue?]).allSatisfy { payload in
                let generic: JSONValue = ["type": "GENERIC", "heading": "H", "message": "M"]
                let (screen, issues) = try Self.post(generic.with("payload", payload))
                return screen?.content == .generic(payload) && issues.isEmpty
            }
        },
        Statement("an unknown type is kept as unknown with its payload") {
            let json: JSONValue = ["type": "NEW", "heading": "H", "message": "M", "payload": [1]]
            return try Self.post(json).0?.content == .unknown(type: "NEW", payload: [1])
        },
    ]

    @Test(arguments: Self.statements) func holds(_ statement: Statement) throws {
        #expect(try statement.holds(), "\(statement)")
    }
}
