import Basics
import ExactJSON
import OperationScreens

extension OperationUI.PreApprovalScreen {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        guard view.isObject else { throw log.issue(.unreadable(expected: "a screen"), at: view) }
        let kind = Kind(view.optional("type", .string, &log))
        let elements = view.optional("elements", .array, &log)
        self.init(
            id: view.optional("id", .string, &log),
            kind: kind,
            heading: view.optional("heading", .string, &log) ?? kind.ownHeading,
            message: view.optional("message", .string, &log) ?? kind.ownMessage,
            backButton: view.optional("backButton", .flag, &log),
            image: view.optional("image", .string, &log),
            elements: log.inside("elements") { log in
                elements.map { elements in
                    log.elements(of: elements) { (view, log) throws(DecodingIssue) in
                        try OperationUI.PreApprovalElement(view, &log)
                    }
                } ?? []
            },
            controls: view.optional("controls", .object, &log).map { controls in
                log.inside("controls") { log in OperationUI.PreApprovalControls(controls, &log) }
            }
        )
    }

    /// Reads the single screen of older servers, with items as a list and a slider as its only control.
    init(single view: JSONView, _ log: inout IssueLog) {
        let kind = Kind(view.optional("type", .string, &log))
        let items = view.optional("items", .array, &log)
        let slider: OperationUI.PreApprovalControls.Approve.Kind? = view.optional("approvalType", .known, &log)
        self.init(
            kind: kind,
            heading: view.optional("heading", .string, &log) ?? kind.ownHeading,
            message: view.optional("message", .string, &log) ?? kind.ownMessage,
            elements: log.inside("items") { log in
                items.map { items in
                    log.elements(of: items) { (view, log) throws(DecodingIssue) in
                        guard let text = view.string else {
                            throw log.issue(.unreadable(expected: "a string"), at: view)
                        }
                        return OperationUI.PreApprovalElement(content: .listItem(text: text))
                    }
                } ?? []
            },
            controls: slider == .slider ? OperationUI.PreApprovalControls(approve: .init(kind: .slider)) : nil
        )
    }
}

/// The text of a screen for which the server sends none: a fraud warning has only a kind.
extension OperationUI.PreApprovalScreen.Kind {
    fileprivate var ownHeading: String {
        switch self {
        case .info: "Information"
        case .warning: "Warning"
        case .qrScan: "Scan a code"
        case .unknown: "Before the approval"
        }
    }

    fileprivate var ownMessage: String {
        switch self {
        case .warning: "The bank warns of fraud, and gives no reason."
        case .qrScan: "The bank asks for a code that is shown elsewhere."
        case .info, .unknown: "The bank asks for a confirmation, and gives no text."
        }
    }
}

extension OperationUI.PreApprovalElement {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        guard view.isObject else { throw log.issue(.unreadable(expected: "an element"), at: view) }
        let content = try Content(view, &log)
        self.init(
            id: view.optional("id", .string, &log),
            icon: view.optional("icon", .string, &log),
            content: content
        )
    }
}

extension OperationUI.PreApprovalElement.Content {
    fileprivate init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        typealias Style = OperationUI.PreApprovalElement.Style
        let type = try view.required("type", .string, log)
        switch ExactString(type) {
        case "LISTITEM", "LIST_ITEM":
            let text = try view.required("text", .string, log)
            self = .listItem(text: text, style: view.optional("style", .string, &log).map(Style.init))
        case "ALERT":
            let text = try view.required("text", .string, log)
            self = .alert(text: text, style: view.optional("style", .string, &log).map(Style.init))
        case "BUTTON":
            self = .button(try OperationUI.PreApprovalElement.Button(view, &log))
        default:
            self = .unknown(type: type, json: .object(log.members(of: view)))
        }
    }
}

extension OperationUI.PreApprovalElement.Button {
    private static let knownMembers: Set<ExactString> = ["id", "type", "icon", "text", "action", "href"]

    fileprivate init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.init(
            text: try view.required("text", .string, log),
            action: view.optional("action", .string, &log).map(Action.init),
            href: view.optional("href", .string, &log),
            otherMembers: log.members(of: view, besides: Self.knownMembers)
        )
    }
}

/// An unknown or incomplete control is left out; the others stay.
extension OperationUI.PreApprovalControls {
    init(_ view: JSONView, _ log: inout IssueLog) {
        self.init(
            flip: view.optional("flip", .flag, &log),
            axis: view.optional("axis", .known, &log),
            decline: view.optional("decline", .object, &log).flatMap { part in
                log.inside("decline") { log in
                    part.reported("type", .known, &log).map { kind in
                        Decline(kind: kind, text: part.optional("text", .string, &log))
                    }
                }
            },
            approve: view.optional("approve", .object, &log).flatMap { part in
                log.inside("approve") { log in
                    part.reported("type", .known, &log).map { kind in
                        Approve(
                            kind: kind,
                            text: part.optional("text", .string, &log),
                            counter: part.optional("counter", .count, &log)
                        )
                    }
                }
            }
        )
    }
}
