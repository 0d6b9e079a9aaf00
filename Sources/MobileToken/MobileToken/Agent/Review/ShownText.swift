import ExactJSON
import OperationScreens

/// A string of an operation that a person or a policy reads.
struct ShownText {
    /// The string's name in a doubt.
    let name: String?
    let string: String

    init(_ name: String?, _ string: String?) {
        self.name = name
        self.string = string ?? ""
    }
}

extension UserOperation {
    /// All strings of the operation, except those of amounts.
    var texts: [ShownText] {
        [ShownText("title", self.formData.title), ShownText("message", self.formData.message)]
            + [ShownText("name", self.name), ShownText("statusReason", self.statusReason)]
            + self.formData.attributes.map(\.shownText) + (self.formData.resultTexts?.texts ?? [])
            + (self.ui?.texts(review: self.reviewAttributes) ?? [])
    }
}

extension UserOperation.Attribute {
    /// The name of the attribute in a doubt.
    var name: String? { self.id ?? self.label }

    /// The label and the string beside it, which are read together.
    fileprivate var shownText: ShownText {
        let parts: [String?] =
            switch self.content {
            case .keyValue(let text), .note(let text): [text]
            case .partyInfo(let party): [party.name, party.description, party.websiteURL]
            case .alert(let alert): [alert.title, alert.message]
            case .image(let thumbnailURL, let originalURL): [thumbnailURL, originalURL]
            // Amounts are compared as numbers, and an unknown attribute is already a doubt.
            case .amount, .amountConversion, .heading, .unknown: []
            }
        return ShownText(self.name, ([self.label] + parts).compactMap { $0 }.joined(separator: ": "))
    }
}

extension OperationForm.ResultTexts {
    fileprivate var texts: [ShownText] {
        [self.success, self.failure, self.reject].map { ShownText("resultTexts", $0) }
    }
}

extension OperationUI {
    fileprivate func texts(review: [UserOperation.Attribute]) -> [ShownText] {
        var texts = self.preApprovalScreens.flatMap { screen in
            ([screen.heading, screen.message, screen.controls?.approve?.text, screen.controls?.decline?.text]
                + screen.elements.map(\.content.text)).map { ShownText(screen.id ?? "preApprovalScreens", $0) }
        }
        if let screen = self.postApprovalScreen {
            texts += [screen.heading, screen.message].map { ShownText("postApprovalScreen", $0) }
            switch screen.content {
            case .review: texts += review.map(\.shownText)
            case .redirect(let redirect): texts.append(ShownText("postApprovalScreen", redirect.text))
            case .generic(let payload), .unknown(_, let payload):
                texts += (payload?.strings ?? []).map { ShownText("postApprovalScreen", $0) }
            }
        }
        return texts + (self.templates?.strings ?? []).map { ShownText("templates", $0) }
    }
}

extension OperationUI.PreApprovalElement.Content {
    /// The string of a screen element; nil for an unknown type.
    package var text: String? {
        switch self {
        case .listItem(let text, _), .alert(let text, _): text
        case .button(let button): button.text
        case .unknown: nil
        }
    }
}

extension JSONValue {
    /// The nested strings, without names.
    fileprivate var strings: [String] {
        switch self {
        case .string(let string): [string]
        case .array(let elements): elements.flatMap(\.strings)
        case .object(let members): members.members.flatMap(\.value.strings)
        default: []
        }
    }
}
