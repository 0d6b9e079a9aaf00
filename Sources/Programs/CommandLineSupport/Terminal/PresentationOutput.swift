import ExactJSON
import MobileToken
import OperationScreens

// The server's presentation hints in the form of `--json`, with the protocol's names and values.

extension OperationUI {
    func document(review: [UserOperation.Attribute]) -> JSONValue {
        [
            "flipButtons": .optional(self.flipButtons),
            "blockApprovalOnCall": .optional(self.blockApprovalOnCall),
            "preApprovalScreens": .array(self.preApprovalScreens.map(\.document)),
            "postApprovalScreen": self.postApprovalScreen?.document(review: review) ?? .null,
            "templates": self.templates ?? .null,
        ]
    }
}

extension OperationUI.PreApprovalScreen {
    fileprivate var document: JSONValue {
        let type: String? =
            switch self.kind {
            case .info: "INFO"
            case .warning: "WARNING"
            case .qrScan: "QR_SCAN"
            case .unknown(let text): text
            }
        return [
            "id": .optional(self.id), "type": .optional(type), "heading": .string(self.heading),
            "message": .string(self.message),
            "elements": .array(self.elements.compactMap(\.content.text).map { .string($0) }),
        ]
    }
}

extension OperationUI.PostApprovalScreen {
    fileprivate func document(review: [UserOperation.Attribute]) -> JSONValue {
        let (type, payload): (String, JSONValue?) =
            switch self.content {
            case .review: ("REVIEW", ["attributes": .array(review.map(\.document))])
            case .redirect(let redirect):
                (
                    "MERCHANT_REDIRECT",
                    [
                        "redirectText": .string(redirect.text), "redirectUrl": .string(redirect.url),
                        "countdown": .number(JSONNumber(redirect.countdown)),
                    ]
                )
            case .generic(let payload): ("GENERIC", payload)
            case .unknown(let type, let payload): (type, payload)
            }
        return [
            "type": .string(type), "heading": .string(self.heading), "message": .string(self.message),
            "payload": payload ?? .null,
        ]
    }
}

extension OperationForm.ResultTexts {
    var document: JSONValue {
        [
            "success": .optional(self.success), "failure": .optional(self.failure), "reject": .optional(self.reject),
        ]
    }
}

extension JSONValue {
    fileprivate static func optional(_ flag: Bool?) -> Self { flag.map { .bool($0) } ?? .null }
}
